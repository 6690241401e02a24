import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { field, passwordField, submit, time } from '../../src/pages/parts/components.ts'
import { textsIn } from '../../src/pages/texts/texts.ts'

const texts = textsIn('en')

describe('a field', () => {
  it('is a label with an input whose text is not corrected', () => {
    assert.equal(
      field({ id: 'email', label: 'Email' }).toString(),
      `<div class="field">
<label for="email">Email</label>
<input id="email" type="text" name="email" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false">
</div>
`,
    )
  })
  it('is described by its hint and by what else is said of it', () => {
    const markup = field({ id: 'a', label: 'A', hint: 'At work', describedBy: ['message'], isWrong: true }).toString()
    assert.match(markup, /<p class="hint" id="a-hint">At work<\/p>\n<input id="a"/)
    assert.match(markup, / aria-describedby="a-hint message" aria-invalid="true">/)
  })
  it('has the value, the name, the kind and the cursor that it is given', () => {
    const markup = field({
      id: 'a',
      name: 'b',
      label: 'A',
      type: 'email',
      value: '"<',
      autocomplete: 'email',
      focus: true,
    })
    assert.match(
      markup.toString(),
      /<input id="a" type="email" name="b" value="&quot;&lt;" autocomplete="email" [^>]* autofocus>/,
    )
  })
  it('has no empty value', () => {
    assert.doesNotMatch(field({ id: 'a', label: 'A', value: '' }).toString(), /value=/)
  })
  it('has a link beside its label', () => {
    const markup = field({ id: 'a', label: 'A', aside: { text: 'Forgot?', url: '/forgot' } }).toString()
    assert.match(markup, /<a class="aside" href="\/forgot">Forgot\?<\/a>/)
  })
})

describe('a field for a password', () => {
  const markup = passwordField(texts, { id: 'password', label: 'Password', autocomplete: 'new-password' }).toString()
  it('hides what is typed, and its button, which needs the script', () => {
    assert.match(markup, /<input id="password" type="password" name="password" autocomplete="new-password"/)
    assert.match(
      markup,
      /<button class="reveal" type="button" aria-controls="password" aria-label="Show what you type" aria-pressed="false" [^>]* hidden>/,
    )
  })
  it('never repeats what was typed', () => {
    assert.doesNotMatch(passwordField(texts, { id: 'a', label: 'A', value: 'secret' }).toString(), /secret/)
  })
})

describe('the button of a form', () => {
  it('is posted under its name where it has one', () => {
    assert.equal(submit('Next').toString(), '<input class="button" type="submit" value="Next">\n')
    assert.equal(
      submit('Next', 'commit').toString(),
      '<input class="button" type="submit" name="commit" value="Next">\n',
    )
  })
})

describe('a moment', () => {
  it('is shown in UTC, which is named in full, for a page without script', () => {
    const at = new Date('2026-01-02T03:04:05Z')
    assert.equal(
      time(texts, at).toString(),
      '<time datetime="2026-01-02T03:04:05.000Z" data-moment>January 2, 2026 at 3:04 AM Coordinated Universal Time</time>',
    )
    assert.match(time(textsIn('de'), at).toString(), />2\. Januar 2026 um 03:04 Koordinierte Weltzeit</)
  })
})
