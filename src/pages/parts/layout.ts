// The layout of every page, and the only place that creates a complete document. Pages are pure functions from typed props to
// `Html`: they do not access requests, sessions or the database. There is no script and no style
// inside a document, so that it works under the strictest content security policy; everything works without the script
// and the stylesheet that it names.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import type { Branding } from '../../model/zones/zone.ts'
import { isolated, plain, safeLink } from './foreign.ts'
import { time } from './components.ts'
import type { CompanyAccount, Texts } from '../texts/texts.ts'

/** Where the files of `assets/` are, with a version or digest in the URL so that they can be cached forever. */
interface AssetUrls {
  readonly stylesheet: string
  /** An SVG, best as a `data:` URI: it is small, and a page then needs its stylesheet and nothing else. */
  readonly icon: string
  /** The script that posts a form automatically. */
  readonly formPostScript: string
  readonly fragmentPostScript: string
  readonly logoutFramesScript: string
  /** The script with optional behavior. */
  readonly script: string
  /** The script that requests a passkey from the browser. */
  readonly passkeyScript: string
  /** The stylesheet of the second-factor pages. */
  readonly factorStylesheet: string
  /** URLs of the zone's images; absent if it has none that is an image. */
  readonly squareLogo?: string | undefined
  readonly productLogo?: string | undefined
  readonly bannerLogo?: string | undefined
  /** URL of `zoneStylesheet`; absent if the zone has no custom colours. */
  readonly zoneStylesheet?: string | undefined
}

/** The context of a page, the same for all pages of one response. */
export interface Chrome {
  /** The texts in the user's language. */
  readonly texts: Texts
  readonly zoneName: string
  readonly isDefaultZone: boolean
  /** Includes the default zone's values if this zone has none. */
  readonly branding: Branding
  /** Empty, or the path of the base URL without a slash at its end: `/uaa`. */
  readonly basePath: string
  readonly assets: AssetUrls
  /** The signed-in user; absent on pages for all visitors. */
  readonly user?:
    | {
        readonly userName: string
        readonly signOutAction: string
        /** The time of the previous sign-in; absent for the first one. */
        readonly lastSignIn?: Date | undefined
      }
    | undefined
  /** The anti-forgery field of every form of the page. */
  readonly csrf?: { readonly name: string; readonly value: string } | undefined
  readonly year: number
  /** Version, build and address, for problem reports. */
  readonly about: string
}

/** The content of one page. */
export interface Page {
  /** The title of the page, before the zone's name in the window title. */
  readonly title: string
  /** The text above the heading. */
  readonly picture?: Html | undefined
  /** The heading; absent if the body contains one. */
  readonly heading?: Html | string | undefined
  readonly body: Html
  /** `card`, the default, is one column for one decision; `wide` is for overviews. */
  readonly shape?: 'card' | 'wide' | undefined
  /** A stylesheet only for this page. */
  readonly stylesheet?: string | undefined
  /** A script only for this page. */
  readonly script?: string | undefined
}

const PRODUCT = 'Latchkey'

/** Languages that are written from right to left. */
const directionOf = (tag: string): 'ltr' | 'rtl' => (/^(?:ar|fa|he|ur)\b/.test(tag) ? 'rtl' : 'ltr')

/** Display name of the site: the company in the default zone, else the zone's name. */
export const siteName = (chrome: Pick<Chrome, 'texts' | 'branding' | 'zoneName' | 'isDefaultZone'>): string =>
  plain(chrome.isDefaultZone ? (chrome.branding.companyName ?? productIn(chrome)) : chrome.zoneName, 80)

/** UAA: names the company of the default zone on the pages that create an account. See docs/compatibility.md, P4. */
export const companyAccount = ({ texts, branding, isDefaultZone }: Chrome): CompanyAccount | undefined =>
  isDefaultZone && branding.companyName && branding.companyName !== texts.reference?.product
    ? texts.reference?.companyAccount(plain(branding.companyName, 80))
    : undefined

const productIn = ({ texts }: Pick<Chrome, 'texts'>): string => texts.reference?.product ?? PRODUCT

/** A complete document around the content: head, banner of the zone, brand, signed-in user, main landmark, footer. */
export function layout(chrome: Chrome, page: Page): Html {
  const content = html`${page.picture}${page.heading !== undefined && html`<h1>${page.heading}</h1>\n`}${page.body}`
  return html`<!doctype html>
<html lang="${chrome.texts.tag}" dir="${directionOf(chrome.texts.tag)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${!chrome.texts.reference && html`${plain(page.title)} · `}${siteName(chrome)}</title>
<link rel="stylesheet" href="${chrome.assets.stylesheet}">
${page.stylesheet !== undefined && html`<link rel="stylesheet" href="${page.stylesheet}">\n`}${chrome.assets.zoneStylesheet !== undefined && html`<link rel="stylesheet" href="${chrome.assets.zoneStylesheet}">\n`}${iconLink(chrome)}
<script src="${chrome.assets.script}" defer></script>
${page.script !== undefined && html`<script src="${page.script}" defer></script>\n`}</head>
<body class="${chrome.user ? 'signed-in' : 'signed-out'}">
<a class="skip" href="#main">${chrome.texts.layout.skip}</a>
<header${chrome.texts.reference && html` class="header"`}>
${bannerStrip(chrome)}<div class="top">
${brand(chrome)}${chrome.user && userMenu(chrome, chrome.user)}
</div>
</header>
<main id="main" tabindex="-1" class="${page.shape ?? 'card'}${chrome.texts.reference && ' island'}">
${content}
</main>
${footer(chrome)}
</body>
</html>
`
}

function iconLink({ assets }: Chrome): Html {
  const { squareLogo = 'data:' } = assets
  // A logo within the page is there once, as the mark.
  if (!squareLogo.startsWith('data:')) return html`<link rel="icon" type="image/png" href="${squareLogo}">`
  return html`<link rel="icon" type="image/svg+xml" href="${assets.icon}">`
}

/** The optional banner of the zone; its logo takes precedence over its text. */
function bannerStrip({ branding: { banner }, assets: { bannerLogo: logo }, texts }: Chrome): Html | undefined {
  const text = banner?.text ? plain(banner.text, 1000) : ''
  if (logo === undefined && text === '') return undefined
  const content =
    logo === undefined
      ? html`<span><bdi>${text}</bdi></span>`
      : html`<img src="${logo}" alt="${text || texts.layout.banner}">`
  const link = safeLink(banner?.link)
  return html`<div class="banner banner-header">${link === undefined ? content : html`<a href="${link}">${content}</a>`}</div>\n`
}

/** The zone's logo, or the key and the name; a link home for signed-in users. */
function brand(chrome: Chrome): Html {
  const name = siteName(chrome)
  const { squareLogo, productLogo, icon } = chrome.assets
  const content =
    productLogo === undefined
      ? html`<img class="${squareLogo === undefined ? 'mark' : 'mark logo'}" src="${squareLogo ?? icon}" alt="" width="40" height="40"><bdi>${name}</bdi>`
      : html`<img class="logo" src="${productLogo}" alt="${name}">`
  if (chrome.user === undefined) return html`<div class="brand">${content}</div>`
  return html`<a class="brand" href="${chrome.basePath}/">${content}</a>`
}

function userMenu(chrome: Chrome, { userName, signOutAction }: NonNullable<Chrome['user']>): Html {
  const { reference } = chrome.texts
  if (reference) {
    // UAA: its sign-out is a link. See docs/compatibility.md, P4.
    return html`
<details class="person dropdown nav">
<summary class="dropdown-trigger quiet" id="nav-dropdown-button">${isolated(userName)}</summary>
<nav class="dropdown-content">
<a id="nav-dropdown-content-profile" href="${chrome.basePath}/profile">${reference.menu.settings}</a>
<a id="nav-dropdown-content-logout" href="${signOutAction}">${reference.menu.signOut}</a>
</nav>
</details>`
  }
  return html`
<form class="person" action="${signOutAction}" method="post">${csrfField(chrome)}
<span class="name">${isolated(userName)}</span>
<button class="quiet" type="submit">${chrome.texts.layout.signOut}</button>
</form>`
}

function footer(chrome: Chrome): Html {
  const { branding, isDefaultZone, zoneName, year, about, user, texts } = chrome
  const company = plain(branding.companyName ?? (isDefaultZone ? productIn(chrome) : zoneName), 80)
  const copyright = texts.reference?.copyright(year, company) ?? html`© ${year} ${isolated(company)}`
  const links = Object.entries(branding.footerLinks ?? {}).flatMap(([text, url]) => {
    const link = safeLink(url)
    return link === undefined ? [] : [html`<li><a href="${link}">${isolated(text)}</a></li>`]
  })
  return html`<footer class="footer">
<p class="copyright" title="${plain(about, 500)}">${branding.footerLegalText ? isolated(branding.footerLegalText, 2000) : copyright}</p>
${user?.lastSignIn && lastSignIn(texts, user.lastSignIn)}${links.length > 0 && html`<ul>${links}</ul>\n`}</footer>`
}

// UAA: id and attribute are known to clients; the time is in milliseconds.
const lastSignIn = (texts: Texts, at: Date): Html =>
  html`<p><span id="last_login_time" last-login-success-time="${at.getTime()}">${texts.layout.lastSignIn(
    time(texts, at),
  )}</span></p>\n`

/** A hidden field. The order type, name, value matters: programs that parse the login form rely on it. */
export const hiddenField = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`

/** The anti-forgery field of the page, for every form that posts to this server. */
export const csrfField = ({ csrf }: Chrome): Html | undefined => csrf && hiddenField(csrf.name, csrf.value)

/** Characters in the URL; without it, the next page continues with the most recent saved request. */
export const MAX_LINK_LENGTH = 2000

/**
 * A link between two sign-in pages that keeps the target of this page: another tab may have requested
 * something else since.
 */
export function withFormRedirect(path: string, formRedirectUri: string | undefined): string {
  if (formRedirectUri === undefined || formRedirectUri.length > MAX_LINK_LENGTH) return path
  return `${path}${path.includes('?') ? '&' : '?'}form_redirect_uri=${encodeURIComponent(formRedirectUri)}`
}
