import type { AddressedMail } from './mailer.ts'

/** Writes each mail to the log, with its links: the only way to them without a mail server. */
export const createMailLog =
  (info: (line: string) => void) =>
  ({ to, subject, text }: AddressedMail): void =>
    info(`mail to ${to}, not sent: ${[subject, ...(text.match(/https?:\/\/\S+/g) ?? [])].join(' ')}`)
