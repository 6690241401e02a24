import type { Config } from '../config.ts'
import { isLoopbackHost } from '../base/loopback.ts'
import { openToEveryPage } from './cors.ts'
import { isCheap } from './hash-cost.ts'

/** Sentences about what is usable, but probably not meant. */
export function warningsOf({
  baseUrl,
  compatibility,
  sessionSameSite,
  hashCost,
  cors,
  settings,
}: Pick<
  Config,
  'baseUrl' | 'compatibility' | 'sessionSameSite' | 'hashCost' | 'cors' | 'settings'
>): readonly string[] {
  const { protocol, hostname } = new URL(baseUrl)
  const rows: readonly (readonly [boolean, string])[] = [
    [
      protocol === 'http:' && !isLoopbackHost(hostname),
      `base_url is ${baseUrl}: without https, tokens and passwords can be read on the way`,
    ],
    [
      sessionSameSite === 'none' && protocol === 'http:',
      'session.same_site: none has no effect over http: browsers want such cookies to be secure',
    ],
    [isCheap(hashCost), 'passwords: whoever reads the database guesses passwords and client secrets easily'],
    [
      settings.queryString,
      'jwt.token.queryString.enabled: credentials and tokens may stand in URLs, and so in logs and histories',
    ],
    ...openToEveryPage(cors).map((part): readonly [boolean, string] => [
      true,
      `${part}.allowed: any page may call with the cookies of whoever opened it; name the origins, or switch credentials off`,
    ]),
    // Weak, but the wire of the reference system: see docs/compatibility.md, A15 and T9.
    [
      compatibility === 'uaa' && !settings.strictRedirects,
      'compatibility: uaa matches redirect URIs leniently, wildcards and subdomains included; uaa.oauth.redirect_uri.allow_unsafe_matching: false ends that',
    ],
    [compatibility === 'uaa', 'compatibility: uaa lets tokens live 12 hours where no client or zone says otherwise'],
  ]
  return rows.filter(([applies]) => applies).map(([, sentence]) => sentence)
}
