import { domainToASCII, domainToUnicode } from 'node:url'
import { beginningOf } from '../base/text/beginning.ts'

/** A mail that waits to be sent. */
export interface WaitingMail {
  readonly id: string
  readonly zoneId: string
  /** Sealed for the zone and the id: a link in the mail may sign its reader in. */
  readonly sealed: string
  readonly createdAt: Date
  /** The next attempt. While a process sends the mail, the time from which another process may. */
  readonly nextAttemptAt: Date
  /** Attempts so far, the one under way included. */
  readonly attempts: number
  /** Discarded then, because it is useless afterwards. */
  readonly usefulUntil: Date
}

/** The mail server. */
export interface SmtpSettings {
  readonly host: string
  readonly port: number
  /** The sender's address. */
  readonly from: string
  readonly user?: string
  readonly password?: string
  /** TLS from the first byte. */
  readonly secure: boolean
  /** Refuse to send without an upgrade to TLS. */
  readonly starttls: boolean
  /** Mails per second of all processes together. */
  readonly rate: number
}

/** RFC 5321 §4.5.3.1. */
const MAX_ADDRESS_LENGTH = 254
/** One mailbox without display name, comment, quotes or domain literal, which are where headers are smuggled in. */
const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{C}]{1,64}@[^\s@<>()[\]\\,;:"\p{C}]+$/u

/** A domain with an empty label is none, or another spelling of one that provider records name without the last dot. */
const hasEmptyLabel = (text: string): boolean =>
  text
    .slice(text.lastIndexOf('@') + 1)
    .split('.')
    .includes('')

/**
 * Whether the domain is written as it is known (RFC 5890 §2.3.2): other letters and dots that mean the same would make an address
 * of another domain than provider records name.
 */
function hasPlainDomain(text: string): boolean {
  const domain = text.slice(text.lastIndexOf('@') + 1).toLowerCase()
  const ascii = domainToASCII(domain)
  return domain === ascii || domain === domainToUnicode(ascii)
}

/**
 * The address of an account whose provider names none, because every account has one. It is not a mailbox of the user:
 * whoever registers the domain would receive what is sent there.
 */
export function placeholderAddress(userName: string, origin: string): string {
  const domain = `@user.from.${origin}.cf`
  return beginningOf(userName.replaceAll('@', ''), MAX_ADDRESS_LENGTH - domain.length) + domain
}

/** Whether it is an address as above, also of another server, or one of UAA's, whose domains cannot exist (RFC 2606 §2). */
const isPlaceholder = (text: string): boolean => /@(?:user\.from\..+\.cf|.+\.invalid)$/is.test(text)

/** Whether mail can be sent to the address. */
export const isMailAddress = (text: string): boolean =>
  text.length <= MAX_ADDRESS_LENGTH &&
  ADDRESS.test(text) &&
  !hasEmptyLabel(text) &&
  hasPlainDomain(text) &&
  !isPlaceholder(text)
