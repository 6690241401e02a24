import type { Html } from '../../base/html.ts'
import { layout } from '../parts/layout.ts'
import type { Chrome, Page } from '../parts/layout.ts'

/** The layout of second-factor pages, which have additional style rules. */
export const factorLayout = (chrome: Chrome, page: Page): Html =>
  layout(chrome, { ...page, stylesheet: chrome.assets.factorStylesheet })
