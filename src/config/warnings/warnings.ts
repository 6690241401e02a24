import { isLoopbackHost } from '../../base/loopback.ts'
import type { Config } from '../config.ts'
import { exposedDatabaseHost } from '../sections/database.ts'
import type { SmtpSettings } from '../../model/mail.ts'
import { openToEveryPage } from '../sections/cors.ts'
import { isCheap } from '../sections/hash-cost.ts'

/** Warnings about valid but probably unintended settings. */
export function warningsOf({
  baseUrl,
  database,
  databaseOptions,
  compatibility,
  sessionSameSite,
  hashCost,
  cors,
  settings,
  smtp,
  playground,
}: Pick<
  Config,
  | 'baseUrl'
  | 'database'
  | 'databaseOptions'
  | 'compatibility'
  | 'sessionSameSite'
  | 'hashCost'
  | 'cors'
  | 'settings'
  | 'playground'
> & { readonly smtp: Config['smtp'] | undefined }): readonly string[] {
  const { protocol, hostname } = new URL(baseUrl)
  const exposed = exposedDatabaseHost(database)
  const rows: readonly (readonly [boolean, string])[] = [
    [
      protocol === 'http:' && !isLoopbackHost(hostname),
      `base_url is ${baseUrl}: without https, tokens and passwords can be intercepted`,
    ],
    [
      sessionSameSite === 'none' && protocol === 'http:',
      'session.same_site: none has no effect over http: browsers require such cookies to be secure',
    ],
    [
      exposed !== undefined,
      `database: the connection to ${exposed} has no verified TLS, so all records can be intercepted and changed; add sslmode=verify-full to its URL`,
    ],
    ...databaseOptions.replicas.flatMap((url): readonly (readonly [boolean, string])[] => {
      const host = exposedDatabaseHost(url)
      return [
        [
          host !== undefined,
          `database_options.read_replicas: the connection to ${host} has no verified TLS, so records can be intercepted and changed; add sslmode=verify-full to the URL of database`,
        ],
      ]
    }),
    [isCheap(hashCost), 'passwords: an attacker who reads the database can easily guess passwords and client secrets'],
    [
      settings.queryString,
      'jwt.token.queryString.enabled: credentials and tokens may appear in URLs, and thus in logs and histories',
    ],
    [
      smtp === undefined && !playground,
      'smtp is missing: mails are stored but not sent, and their links, which sign users in, are written to the log',
    ],
    [
      smtp !== undefined && !isSecured(smtp),
      `smtp: ${smtp?.host} may receive mails without TLS, including links that sign users in; set starttls or secure`,
    ],
    ...openToEveryPage(cors).map((part): readonly [boolean, string] => [
      true,
      `${part}.allowed: any page may send requests with the cookies of its visitors; list the origins, or disable credentials`,
    ]),
    // UAA: weak, but kept. See docs/compatibility.md, A15 and T9.
    [
      compatibility === 'uaa' && !settings.strictRedirects,
      'compatibility: uaa matches redirect URIs leniently, wildcards and subdomains included; uaa.oauth.redirect_uri.allow_unsafe_matching: false disables that',
    ],
    [
      compatibility === 'uaa',
      'compatibility: uaa makes tokens valid for 12 hours unless a client or zone sets their lifetime',
    ],
  ]
  return rows.filter(([applies]) => applies).map(([, sentence]) => sentence)
}

/** An empty or truncated file would otherwise go unnoticed; without a path, there is no file. */
export const emptyFileWarnings = (file: object, path: string | undefined): readonly string[] =>
  path === undefined || Object.keys(file).length > 0
    ? []
    : [`the configuration file ${path} has no settings: the server runs with its defaults`]

/** Whether mails cannot be read on the way to the server; with a user, StartTLS is demanded anyway. */
const isSecured = ({ host, secure, starttls, user }: SmtpSettings): boolean =>
  secure || starttls || user !== undefined || isLoopbackHost(host)
