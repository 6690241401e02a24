// Mails about changes of second factors.
import { factorMailTexts } from '../texts/factor-mail-texts.ts'
import type { FactorNotice } from '../texts/factor-mail-texts.ts'
import { mailIn } from './frame.ts'
import type { MailBody, MailFrame } from './frame.ts'

/** One of the mails; `url` is the page of the account. */
export function factorNoticeMail(
  frame: MailFrame,
  notice: FactorNotice,
  { userName, byOther, url }: { readonly userName: string; readonly byOther: boolean; readonly url: string },
): MailBody {
  const mails = factorMailTexts(frame.texts)
  const { subject, lead } = mails.changes[notice]
  return mailIn(frame, {
    subject,
    heading: subject,
    lead: [lead(userName)],
    button: { text: mails.button, url },
    notes: [byOther ? mails.noteByOther : mails.note],
  })
}
