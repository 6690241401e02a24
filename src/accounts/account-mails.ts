import { addSeconds } from '../base/clock.ts'
import { isMailAddress } from '../mail/mailer.ts'
import type { AddressedZone } from '../model/request.ts'
import { accountMail } from '../pages/mails/account.ts'
import type { MailFrame } from '../pages/mails/frame.ts'
import type { AccountMail } from '../pages/texts/texts.ts'
import type { AccountDeps } from './deps.ts'

/** One mail about an account. */
export interface AccountMailOrder {
  readonly zone: AddressedZone
  readonly frame: MailFrame
  readonly mail: AccountMail
  readonly to: string
  /** The address that the mail mentions; the recipient's unless given. */
  readonly email?: string
  readonly former?: string
  /** Target of the button: path and query below the zone's base URL. */
  readonly path?: string
  readonly usefulUntil?: Date
}

/** How long sending an informational mail is attempted. */
export const NOTICE_SECONDS = 24 * 60 * 60

/** Queues the mail; does nothing if the address of the account is not valid. */
export async function sendAccountMail(order: AccountMailOrder, { mailer, urls, clock }: AccountDeps): Promise<void> {
  const { zone, frame, mail, to, email = to, former = to, path, usefulUntil } = order
  if (!isMailAddress(to)) return
  const url = path === undefined ? undefined : urls.ofZone(zone) + path
  const body = accountMail(frame, mail, { email, former, url })
  await mailer.send(zone, { ...body, to }, usefulUntil ?? addSeconds(clock.now(), NOTICE_SECONDS))
}
