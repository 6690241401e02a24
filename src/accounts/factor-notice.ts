import { isMailAddress } from '../mail/mailer.ts'
import { addSeconds } from '../base/clock.ts'
import { factorNoticeMail } from '../pages/mails/factor.ts'
import type { FactorNotice } from '../pages/texts/factor-mail-texts.ts'
import { NOTICE_SECONDS } from './account-mails.ts'
import type { AccountMailDeps } from './account-mails.ts'
import type { FactorOwner } from './factor-changes.ts'

/** Mails the owner of an account that its second factors changed, with a link to them. */
export async function factorMail(
  { zone, user, frame, byOther }: FactorOwner,
  notice: FactorNotice,
  { mailer, urls, clock }: AccountMailDeps,
): Promise<void> {
  const { email: to, userName } = user
  if (!isMailAddress(to)) return
  const url = `${urls.ofZone(zone)}/profile`
  const body = factorNoticeMail(frame, notice, { userName, byOther: byOther === true, url })
  await mailer.send(zone, { ...body, to }, addSeconds(clock.now(), NOTICE_SECONDS))
}
