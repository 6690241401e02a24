// The key `mutual_tls`: certificates of clients, which a proxy in front or the server itself has requested.
import { readCertificates } from '../../base/certificates/certificate.ts'
import { isFullyProcessed } from '../../base/certificates/extensions.ts'
import { possibleTlsMethods, TLS_AUTH_METHODS } from '../../model/clients/mutual-tls.ts'
import type { MutualTlsSettings } from '../../model/clients/mutual-tls.ts'
import type { Problems } from '../problems.ts'
import type { Bootstrap } from '../records/records.ts'
import { section } from './section.ts'

/** `mutual_tls` in the configuration file. */
export interface MutualTlsFile {
  readonly header?: string
  readonly trusted_ca?: string
  readonly endpoint_base_url?: string
}

/** JSON Schema of the key. */
export const mutualTlsSchema = section(
  'Client certificates (RFC 8705), which a proxy in front or listen.tls requests.',
  {
    header: {
      type: 'string',
      pattern: '^[A-Za-z0-9-]{1,64}$',
      patternErrorMessage: 'must be the name of a header',
      default: 'Client-Cert',
      description:
        'The header in which the proxies of listen.trusted_proxies send the certificate; they must replace whatever callers send under this name.',
    },
    trusted_ca: {
      type: 'string',
      description:
        'X.509 certificates in PEM of the authorities whose certificates prove a subject. Absent: no client can use tls_client_auth.',
    },
    trusted_ca_file: {
      type: 'string',
      description:
        'A file, relative to this one, that contains the certificates in PEM; a final line break is dropped.',
    },
    endpoint_base_url: {
      type: 'string',
      description:
        'The URL where client certificates are requested, if not base_url; discovery lists it in mtls_endpoint_aliases.',
    },
  },
)

/** Headers with a meaning of their own, which would be taken from every request. */
const TAKEN = /^(?:host|cookie|authorization|accept.*|content-.*|x-forwarded-.*|forwarded|origin|user-agent|dpop)$/

/** The other settings that the key depends on. */
interface MutualTlsContext {
  readonly baseUrl: string
  readonly trustedProxies: readonly string[]
  /** Whether `listen.tls` asks callers for certificates. */
  readonly asks: boolean
}

/** Reads `mutual_tls`; undefined if no certificates are requested. */
export function mutualTlsOf(
  file: MutualTlsFile | undefined,
  { baseUrl, trustedProxies, asks }: MutualTlsContext,
  problems: Problems,
): MutualTlsSettings | undefined {
  if (file === undefined) return asks ? { asks, trustedAuthorities: [] } : undefined
  if (!problems.hasValidTypes('mutual_tls')) return undefined
  const header = (file.header ?? 'Client-Cert').toLowerCase()
  if (TAKEN.test(header)) problems.add('mutual_tls.header', 'is a header with another meaning')
  if (trustedProxies.length === 0 && !asks && problems.hasValidTypes('listen.trusted_proxies')) {
    problems.add(
      'mutual_tls',
      'requires listen.trusted_proxies, whose header is read, or listen.tls.client_certificates',
    )
  }
  const roots = file.trusted_ca === undefined ? undefined : readCertificates(file.trusted_ca)
  if (file.trusted_ca !== undefined && !roots) {
    problems.add('mutual_tls.trusted_ca', 'must be X.509 certificates in PEM')
  }
  if (roots && !roots.every(({ raw }) => isFullyProcessed(raw))) {
    problems.add(
      'mutual_tls.trusted_ca',
      'has an authority with name constraints, or another critical extension that this server cannot enforce',
    )
  }
  const base = file.endpoint_base_url
  if (base !== undefined && !isBase(base, baseUrl)) {
    problems.add('mutual_tls.endpoint_base_url', 'must be an https URL with the path of base_url, and nothing after it')
  }
  return {
    ...(trustedProxies.length > 0 && { header }),
    asks,
    trustedAuthorities: roots?.map(({ raw }) => raw) ?? [],
    ...(base !== undefined && { endpointBase: withoutSlash(base) }),
  }
}

function isBase(text: string, baseUrl: string): boolean {
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '' && !/[?#]/.test(text)
  return isPlain && withoutSlash(url.pathname) === withoutSlash(new URL(baseUrl).pathname)
}

const withoutSlash = (path: string): string => path.replace(/\/+$/, '')

/** Warnings about clients whose certificate is not read, or for which no authority is configured. */
export function mutualTlsWarnings(
  { clients, identityZones }: Pick<Bootstrap, 'clients' | 'identityZones'>,
  settings: MutualTlsSettings | undefined,
): readonly string[] {
  const possible: readonly string[] = possibleTlsMethods(settings)
  return [...clients, ...identityZones.flatMap(({ bootstrap }) => bootstrap.clients)].flatMap(client => {
    const method = TLS_AUTH_METHODS.find(name => name === client['token_endpoint_auth_method'])
    if (method === undefined || possible.includes(method)) return []
    const missing = settings ? 'mutual_tls.trusted_ca' : 'mutual_tls'
    return [`client ${client.client_id}: it cannot authenticate by ${method}; set ${missing}`]
  })
}
