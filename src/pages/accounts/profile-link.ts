import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import type { Chrome } from '../parts/layout.ts'

/** The link back to the profile, below a form that was opened from there. */
export const profileLink = ({ basePath, texts }: Chrome): Html =>
  html`<p class="below"><a href="${basePath}/profile">${texts.profile.heading}</a></p>\n`
