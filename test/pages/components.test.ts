import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { field, passwordField, submit, time } from '../../src/pages/parts/components.ts'
import { textsIn } from '../../src/pages/texts/texts.ts'

const texts = textsIn('en')

describe('`field`', () => {
  it('returns a label and an input without autocorrection', () => {
    assert.equal(
      field({ id: 'email', label: 'Email' }).toString(),
      `<div class="field">
<label for="email">Email</label>
<input id="email" type="text" name="email" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false">
</div>
`,
    )
  })
  it('references its hint and messages in aria-describedby', () => {
    const markup = field({ id: 'a', label: 'A', hint: 'At work', describedBy: ['message'], isWrong: true }).toString()
    assert.match(markup, /<p class="hint" id="a-hint">At work<\/p>\n<input id="a"/)
    assert.match(markup, / aria-describedby="a-hint message" aria-invalid="true">/)
  })
  it('sets value, name, type and autofocus', () => {
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
  it('omits an empty value', () => {
    assert.doesNotMatch(field({ id: 'a', label: 'A', value: '' }).toString(), /value=/)
  })
  it('adds a link beside the label', () => {
    const markup = field({ id: 'a', label: 'A', aside: { text: 'Forgot?', url: '/forgot' } }).toString()
    assert.match(markup, /<a class="aside" href="\/forgot">Forgot\?<\/a>/)
  })
})

describe('`passwordField`', () => {
  const markup = passwordField(texts, { id: 'password', label: 'Password', autocomplete: 'new-password' }).toString()
  it('hides the password, and the button that requires scripts', () => {
    assert.match(markup, /<input id="password" type="password" name="password" autocomplete="new-password"/)
    assert.match(
      markup,
      /<button class="reveal" type="button" aria-controls="password" aria-label="Show what you type" aria-pressed="false" [^>]* hidden>/,
    )
  })
  it('omits the value', () => {
    assert.doesNotMatch(passwordField(texts, { id: 'a', label: 'A', value: 'secret' }).toString(), /secret/)
  })
})

describe('`submit`', () => {
  it('sets the name if given', () => {
    assert.equal(submit('Next').toString(), '<input class="button" type="submit" value="Next">\n')
    assert.equal(
      submit('Next', 'commit').toString(),
      '<input class="button" type="submit" name="commit" value="Next">\n',
    )
  })
})

describe('`time`', () => {
  it('returns the time in UTC, with the name of the time zone', () => {
    const at = new Date('2026-01-02T03:04:05Z')
    assert.equal(
      time(texts, at).toString(),
      '<time datetime="2026-01-02T03:04:05.000Z" data-moment>January 2, 2026 at 3:04 AM Coordinated Universal Time</time>',
    )
    assert.match(time(textsIn('de'), at).toString(), />2\. Januar 2026 um 03:04 Koordinierte Weltzeit</)
  })
})
