// `listen.tls`: TLS without a proxy. The files are read again while the server runs, so the configuration keeps their paths.
import { resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Problems } from '../problems.ts'

/** As in the file. */
export interface TlsFile {
  readonly certificate_file?: string
  readonly private_key_file?: string
  readonly client_certificates?: 'none' | 'request'
}

/** Paths of PEM files, absolute. */
export interface TlsSettings {
  readonly certificate: string
  readonly privateKey: string
  /** Whether callers are requested to send a certificate. */
  readonly asksForCertificates: boolean
}

/** JSON Schema of `listen.tls`. */
export const tlsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['certificate_file', 'private_key_file'],
  description: 'TLS without a proxy in front; absent: plain HTTP.',
  properties: {
    certificate_file: {
      type: 'string',
      minLength: 1,
      description: 'The X.509 certificates in PEM, its own first. Read again when it changes.',
    },
    private_key_file: {
      type: 'string',
      minLength: 1,
      description: 'The private key in PEM. Read again when it changes.',
    },
    client_certificates: {
      enum: ['none', 'request'],
      default: 'none',
      description: 'Whether the server requests client certificates (RFC 8705). Browsers may then ask users for one.',
    },
  },
} as const

/** The settings; reports files that are not usable, and a base URL that is not https. */
export async function tlsOf(
  file: TlsFile | undefined,
  { baseUrl, folder, problems }: { readonly baseUrl: string; readonly folder: string; readonly problems: Problems },
): Promise<TlsSettings | undefined> {
  const key = 'listen.tls'
  if (file?.certificate_file === undefined || file.private_key_file === undefined || !problems.hasValidTypes(key))
    return undefined
  const { readTls } = await import('../../base/certificates/tls-files.ts')
  const files = {
    certificate: resolve(folder, file.certificate_file),
    privateKey: resolve(folder, file.private_key_file),
  }
  const read = readTls(files)
  if (read.problem !== undefined) {
    const name = read.of === 'certificate' ? 'certificate_file' : 'private_key_file'
    problems.add(`${key}.${name}`, `${file[name]} ${read.problem}`)
  }
  if (!baseUrl.startsWith('https:')) problems.add('base_url', 'must begin with https:, because of listen.tls')
  return { ...files, asksForCertificates: file.client_certificates === 'request' }
}

/** A warning about a certificate that callers will refuse. Behind a proxy, only the proxy has to accept its name. */
export async function tlsWarnings(
  tls: TlsSettings | undefined,
  {
    baseUrl,
    clock,
    isBehindProxy,
  }: { readonly baseUrl: string; readonly clock: Clock; readonly isBehindProxy: boolean },
): Promise<readonly string[]> {
  if (!tls) return []
  const { certificateWarning, readTls } = await import('../../base/certificates/tls-files.ts')
  const read = readTls(tls)
  if (read.problem !== undefined) return [] // replaced since it was checked
  const host = new URL(baseUrl).hostname
  const warning = certificateWarning(read.context.cert, { now: clock.now(), ...(isBehindProxy ? {} : { host }) })
  return warning === undefined
    ? []
    : [`listen.tls.certificate_file: ${tls.certificate} ${warning}; callers will refuse it`]
}
