import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import { clientPicture } from './parts/components.ts'
import { breakable, isolated, safeLink } from './parts/foreign.ts'
import { layout } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'

/** An application that the user can open. */
export interface Tile {
  readonly name: string
  readonly url: string
  /** Base64 PNG. */
  readonly icon?: string | undefined
}

/** Properties of the home page. */
interface HomeProps {
  /** What the user is called. */
  readonly name: string
  readonly tiles: readonly Tile[]
}

/** The page of `/` and `/home`: the applications of the zone with a tile. */
export function homePage(chrome: Chrome, { name, tiles }: HomeProps): Html {
  const shown = tiles.flatMap(item => {
    const link = safeLink(item.url)
    return link === undefined ? [] : [tile(item, link)]
  })
  const texts = chrome.texts.home
  const { title } = texts
  const heading = texts.heading(breakable(name, 80))
  const settings = html`<p class="below"><a href="${chrome.basePath}/profile">${texts.settings}</a></p>
`
  if (shown.length === 0) {
    const body = html`<p class="lead">${texts.empty}</p>
${settings}`
    return layout(chrome, { title, heading, body })
  }
  const body = html`<p class="lead">${texts.choose}</p>
<ul class="tiles">
${shown}</ul>
${settings}`
  return layout(chrome, { title, heading, body, shape: 'wide' })
}

function tile({ name, icon }: Tile, link: string): Html {
  return html`<li><a class="tile" href="${link}">${clientPicture(name, icon)}${isolated(name)}</a></li>
`
}
