// A page with every component in every state, for `test/pages/accessibility.test.ts` and for visual review. See
// docs/decisions/0023-one-visual-language.md.
import { html } from '../../src/base/html.ts'
import type { Html } from '../../src/base/html.ts'
import { alert } from '../../src/pages/parts/alert.ts'
import {
  clientPicture,
  cross,
  field,
  initial,
  passwordField,
  submit,
  tick,
  time,
} from '../../src/pages/parts/components.ts'
import { csrfField, layout } from '../../src/pages/parts/layout.ts'
import type { Chrome } from '../../src/pages/parts/layout.ts'

const at = new Date('2026-01-02T03:04:05Z')

const form = (chrome: Chrome, content: Html): Html =>
  html`<form action="/components" method="post">${csrfField(chrome)}${content}</form>\n`

/** Every component; `icon` is a PNG in base64. */
export function componentsPage(chrome: Chrome, icon: string): Html {
  const { texts } = chrome
  const body = html`<p class="lead">A lead says in one sentence what the page is for. <strong>A name</strong> stands out.</p>
${alert({ kind: 'error', text: 'An error says what to do about it.' }, 'error-message')}
<section aria-labelledby="fields"><h2 id="fields">Fields</h2>
${form(
  chrome,
  html`${field({ id: 'plain', label: 'A field' })}${field({
    id: 'hinted',
    label: 'A field with a hint',
    hint: 'The hint stands between the label and the input.',
    value: 'A value',
    aside: { text: 'A link', url: '/components' },
  })}${field({ id: 'wrong', label: 'A wrong field', value: 'no address', isWrong: true, describedBy: ['message'] })}${passwordField(texts, { id: 'secret', label: 'A password', autocomplete: 'new-password' })}<p class="consent"><input type="checkbox" id="consent" name="consent"><label for="consent">I agree to <a href="/components">the terms</a></label></p>
${submit('The button')}<ul class="note"><li>A rule of a password.</li><li>Another one.</li></ul>
`,
)}</section>
<section aria-labelledby="buttons"><h2 id="buttons">Buttons</h2>
<div class="buttons"><button class="button" type="button">One</button><button class="button plain" type="button">Plain</button><button class="button danger" type="button">Danger</button><button class="button plain dangerous" type="button">Plain, dangerous</button></div>
<div class="buttons stacked"><button class="button" type="button">Stacked</button><a class="button plain" href="/components">A link</a></div>
<p class="or"><span>or</span></p>
<div class="providers"><a class="saml-login-link button plain" href="/components">A provider</a></div>
<p class="below"><a href="/components">A link below</a></p></section>
<section aria-labelledby="lists"><h2 id="lists">Lists</h2>
${form(
  chrome,
  html`<fieldset class="panel"><legend><h3>A panel</h3></legend>
<ul class="choices"><li class="mandatory">${tick}<p>No choice <small>a reason</small></p></li>
<li><input type="checkbox" id="box" name="box" checked><label for="box">A choice <small><code>scope</code> · a state</small></label></li></ul></fieldset>
`,
)}<ul class="accounts"><li>${form(chrome, html`<button class="account" type="submit">${initial('anna')}<span>anna <small>with a provider</small></span></button>`)}<a class="remove" href="/components" title="Remove">${cross}<span class="visually-hidden">Remove anna</span></a></li></ul>
<div class="panel"><ul class="sessions"><li><div><strong>A browser</strong> <span class="badge">a badge</span><p>${time(texts, at)}</p></div><button class="quiet" type="button">Quiet</button></li>
<li><div><strong>Another</strong></div><button class="quiet dangerous" type="button">Quiet, dangerous</button></li></ul></div>
<ul class="tiles"><li><a class="tile" href="/components">${clientPicture('ledger')}A tile</a></li><li><a class="tile" href="/components">${clientPicture('Ledger', icon)}A tile with an icon</a></li></ul>
</section>
<section aria-labelledby="words"><h2 id="words">Words</h2>
<samp id="passcode">AB12-CD34-EF56-GH78-JK90</samp>
<p class="note">A note. <strong>A name</strong> stands out.</p>
<details class="technical" open><summary>Technical details</summary><p>What a developer wants to know.</p><p class="technical">Error 400 · <code>invalid_request</code></p></details>
</section>
`
  return layout(chrome, { title: 'Components', heading: 'Components', body, shape: 'wide' })
}
