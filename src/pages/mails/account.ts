// Mails about an account and its e-mail address.
import type { AccountMail, AccountMailFacts } from '../texts/texts.ts'
import { mailIn } from './frame.ts'
import type { MailBody, MailFrame } from './frame.ts'

/** One of the mails; `url` is the link of its button, if it has one. */
export function accountMail(
  frame: MailFrame,
  name: AccountMail,
  { url, ...facts }: AccountMailFacts & { readonly url?: string | undefined },
): MailBody {
  const { subject, lead, button, note } = frame.texts.accountMails[name]
  return mailIn(frame, {
    subject,
    heading: subject,
    lead: [lead(facts)],
    ...(button !== undefined && url !== undefined && { button: { text: button, url } }),
    notes: [note],
  })
}
