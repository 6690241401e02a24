import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import type { PostedForm } from '../model/sessions/destination.ts'
import { isolated } from './parts/foreign.ts'
import { hiddenField, layout } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'

/** Properties of the page that posts an authorization response. */
interface FormPostProps extends PostedForm {
  readonly clientName: string
}

/** Posts the response of another provider from the fragment to this page's own URL, by its script. */
export function fragmentPostPage(
  chrome: Chrome,
  { name, action, fields }: { readonly name: string; readonly action: string; readonly fields: readonly string[] },
): Html {
  const { title, heading, lead } = chrome.texts.formPost
  const body = html`<p class="lead">${lead(html`<strong>${isolated(name, 80)}</strong>`)}</p>
<form id="form_post" action="${action}" method="post" accept-charset="UTF-8" data-fields="${fields.join(' ')}">
${hiddenField('posted_again', 'true')}
</form>
<script src="${chrome.assets.fragmentPostScript}"></script>
`
  return layout({ ...chrome, user: undefined, csrf: undefined }, { title, heading, body })
}

/** Posts an authorization response to the client (OAuth 2.0 Form Post Response Mode §2): automatically, or by its button. */
export function formPostPage(chrome: Chrome, { clientName, ...form }: FormPostProps): Html {
  return posting(chrome, form, chrome.texts.formPost.lead(html`<strong>${isolated(clientName, 80)}</strong>`))
}

/** Posts a form to another server, and names its host: automatically, or by its button. */
export function outboundPostPage(chrome: Chrome, form: PostedForm): Html {
  const { host } = new URL(form.action)
  return posting(chrome, form, chrome.texts.formPost.outbound(html`<strong>${isolated(host, 80)}</strong>`))
}

function posting(chrome: Chrome, { action, fields }: PostedForm, lead: Html): Html {
  const { title, heading, submit } = chrome.texts.formPost
  const body = html`<p class="lead">${lead}</p>
<form id="form_post" action="${action}" method="post" accept-charset="UTF-8">
${Object.entries(fields).map(([name, value]) => hiddenField(name, value))}
<div class="buttons">
<button class="button" type="submit">${submit}</button>
</div>
</form>
<script src="${chrome.assets.formPostScript}"></script>
`
  // No other action here, and no value of ours with a form that is posted to another server.
  return layout({ ...chrome, user: undefined, csrf: undefined }, { title, heading, body })
}
