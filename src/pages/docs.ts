import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import { layout, siteName } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'
import { textsIn } from './texts/texts.ts'

/** A group of endpoints. */
export interface DocumentedArea {
  readonly name: string
  readonly about: string
  readonly operations: readonly DocumentedOperation[]
}

/** One method of one path. */
export interface DocumentedOperation {
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly about?: string
  readonly callers: string
  readonly parameters: readonly DocumentedParameter[]
  /** An accepted request body. */
  readonly body?: string
  readonly answers: readonly { readonly status: number; readonly about: string }[]
}

/** A parameter of a request. */
interface DocumentedParameter {
  readonly name: string
  readonly where: string
  readonly about: string
  readonly required: boolean
}

/** Properties of the page. */
interface DocsProps {
  readonly areas: readonly DocumentedArea[]
  /** URL of the OpenAPI document. */
  readonly document: string
  /** URL of the stylesheet of this page. */
  readonly stylesheet: string
  /** URLs of the script of this page, and of the explorer that it loads. */
  readonly script: string
  readonly explorer: string
  /** The base URL, as a path, of the zone that the explorer sends requests to. */
  readonly server: string
}

/**
 * The page of `/docs`: every endpoint by area, its access, input and answers. In English throughout. The
 * script replaces the list with an explorer where there is room.
 */
export function docsPage(chrome: Chrome, props: DocsProps): Html {
  const { areas, document, stylesheet, script, explorer, server } = props
  const title = 'API reference'
  const body = html`<script src="${script}" data-explorer="${explorer}" data-description="${document}" data-server="${server}"></script>
<p id="explorer-links" hidden><a href="${chrome.basePath}/">${siteName(chrome)}</a> <a href="?list">All on one page</a></p>
<div class="list">
<h1>${title}</h1>
<p class="lead">Every endpoint of this server. Programs read <a href="${document}">the same as OpenAPI 3.1</a>.</p>
<nav aria-label="Areas"><ul class="areas">
${areas.map(
  (
    { name, operations },
    index,
  ) => html`<li><a href="#area-${index}">${name}</a> <small>${operations.length}</small></li>
`,
)}</ul></nav>
${areas.map(areaSection)}</div>
`
  return layout({ ...chrome, user: undefined, texts: textsIn('en') }, { title, body, shape: 'wide', stylesheet })
}

function areaSection({ name, about, operations }: DocumentedArea, index: number): Html {
  return html`<section class="docs" aria-labelledby="area-${index}">
<h2 id="area-${index}">${name}</h2>
<p class="lead">${worded(about)}</p>
${operations.map(operationItem)}</section>
`
}

function operationItem({
  method,
  path,
  summary,
  about,
  callers,
  parameters,
  body,
  answers,
}: DocumentedOperation): Html {
  return html`<details>
<summary><h3><code class="method">${method}</code> <code>${breakable(path)}</code></h3> <span>${summary}</span></summary>
${about !== undefined && html`<p>${worded(about)}</p>\n`}<dl class="calls"><div><dt>Who may call</dt><dd>${callers}</dd></div></dl>
${parameters.length > 0 && html`<h4>Takes</h4>\n<dl class="calls">\n${parameters.map(parameterItem)}</dl>\n`}${
  body !== undefined && html`<h4>Takes, for example</h4>\n<pre tabindex="0">${body}</pre>\n`
}<h4>Answers</h4>
<dl class="calls">
${answers.map(({ status, about: meaning }) => html`<div><dt><code>${status}</code></dt><dd>${worded(meaning)}</dd></div>\n`)}</dl>
</details>
`
}

function parameterItem({ name, where, about, required }: DocumentedParameter): Html {
  return html`<div><dt><code>${name}</code> <small>${where}${required && ', required'}</small></dt><dd>${worded(about)}</dd></div>
`
}

/** A long path may break after its slashes. */
const breakable = (path: string): readonly Html[] =>
  path.split(/(?<=\/)/).map((part, index) => (index === 0 ? html`${part}` : html`<wbr>${part}`))

/** Renders text between backticks as code. */
const worded = (text: string): readonly Html[] =>
  text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
