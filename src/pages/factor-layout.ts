import type { Html } from '../base/html.ts'
import { type Chrome, layout, type Page } from './layout.ts'

/** The layout of a page of second factors, which have rules of their own. */
export const factorLayout = (chrome: Chrome, page: Page): Html =>
  layout(chrome, { ...page, stylesheet: chrome.assets.factorStylesheet })
