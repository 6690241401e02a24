import { isMailAddress } from '../../model/mail.ts'
import type { SmtpSettings } from '../../model/mail.ts'
import type { Problems } from '../problems.ts'

/** `smtp` of the configuration file. */
export interface SmtpFile {
  readonly host: string
  readonly port?: number
  readonly from?: string
  readonly user?: string
  readonly password?: string
  readonly secure?: boolean
  readonly starttls?: boolean
  readonly rate?: number
}

const DEFAULT_PORT = 25
/** RFC 8314 §3.3. */
const DEFAULT_TLS_PORT = 465
const DEFAULT_RATE = 10

/** The settings, or undefined if there are none. */
export function smtpOf(smtp: SmtpFile | undefined, baseUrl: string, problems: Problems): SmtpSettings | undefined {
  if (smtp === undefined || !problems.hasValidTypes('smtp')) return undefined
  const { host, user, password, secure = false, starttls = false } = smtp
  const from = smtp.from ?? `admin@${new URL(baseUrl).hostname}`
  if (host === '') problems.add('smtp.host', 'must not be empty')
  if (/[/\s]|^[^:]*:[^:]*$/.test(host))
    problems.add('smtp.host', 'must be only a host name or an address; smtp.port is the port')
  if (smtp.from !== undefined && !isMailAddress(from)) problems.add('smtp.from', 'must be one e-mail address')
  if (smtp.from === undefined && !isMailAddress(from)) {
    problems.add('smtp.from', 'is missing: the host of base_url cannot be used in an e-mail address')
  }
  if (user !== undefined && password === undefined) problems.add('smtp.password', 'is missing, but smtp.user is set')
  if (user === undefined && password !== undefined) problems.add('smtp.user', 'is missing, but smtp.password is set')
  if (secure && starttls) problems.add('smtp.starttls', 'must not be true together with secure: choose one')
  return {
    host,
    port: smtp.port ?? (secure ? DEFAULT_TLS_PORT : DEFAULT_PORT),
    from,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    secure,
    starttls,
    rate: smtp.rate ?? DEFAULT_RATE,
  }
}
