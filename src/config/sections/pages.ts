// The keys `links` and `servlet`, as in UAA: settings of the pages and sessions of every zone.
import { DEFAULT_PAGE_SETTINGS } from '../../model/zones/settings.ts'
import type { PageSettings } from '../../model/zones/settings.ts'
import { isLink } from '../../model/zones/zone-rules.ts'
import type { Problems } from '../problems.ts'
import { section } from './section.ts'
import { MAX_SECONDS } from '../../records/kinds.ts'

/** The keys in the configuration file. */
export interface PagesFile {
  readonly links?: {
    readonly global?: { readonly signup?: string; readonly passwd?: string; readonly homeRedirect?: string }
  }
  readonly servlet?: {
    readonly 'idle-timeout'?: number
    readonly 'session-cookie'?: { readonly 'max-age'?: number }
  }
}

const link = (what: string) =>
  ({
    type: 'string',
    minLength: 1,
    description: `${what} An http or https URL, or a path below base_url; {zone.id} and {zone.subdomain} are filled in.`,
  }) as const

/** JSON Schema of the keys. */
export const pagesSchemas = {
  links: section('Links of the pages.', {
    global: section('For every zone without its own links.', {
      signup: link('Where users create an account.'),
      passwd: link('Where users reset a forgotten password.'),
      homeRedirect: link('Where / and /home redirect to.'),
    }),
  }),
  servlet: section('Browser sessions.', {
    'idle-timeout': {
      type: 'integer',
      minimum: 1,
      maximum: MAX_SECONDS,
      default: DEFAULT_PAGE_SETTINGS.idleSeconds,
      description: 'Seconds without a request after which a session ends. Every session ends after twelve hours.',
    },
    'session-cookie': section('The session cookie.', {
      'max-age': {
        type: 'integer',
        minimum: -1,
        maximum: MAX_SECONDS,
        default: -1,
        description: 'Seconds that browsers keep the cookie; -1: until the browser is closed.',
      },
    }),
  }),
} as const

const LINKS = ['signup', 'passwd', 'homeRedirect'] as const

/** The settings, as far as their types are correct; reports invalid links and a cookie lifetime of 0. */
export function pageSettingsOf(file: PagesFile, problems: Problems): PageSettings {
  const given = problems.hasValidTypes('links') ? (file.links?.global ?? {}) : {}
  for (const name of LINKS) {
    const key = `links.global.${name}`
    const value = given[name]
    if (value === undefined || value === '' || !problems.hasValidTypes(key) || isLink(value)) continue
    problems.add(key, 'must be an http or https URL, or a path that begins with one slash')
  }
  const servlet = problems.hasValidTypes('servlet') ? file.servlet : undefined
  const maxAge = servlet?.['session-cookie']?.['max-age'] ?? -1
  if (maxAge === 0) problems.add('servlet.session-cookie.max-age', 'must be -1, or at least 1')
  return {
    links: given,
    idleSeconds: servlet?.['idle-timeout'] ?? DEFAULT_PAGE_SETTINGS.idleSeconds,
    ...(maxAge > 0 && { cookieSeconds: maxAge }),
  }
}
