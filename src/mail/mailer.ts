// Puts mails into the queue of the database. A background task sends them, so that no request waits for a mail server.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import { isMailAddress } from '../model/mail.ts'
import type { WaitingMail } from '../model/mail.ts'
import { sealContexts } from '../model/seal-contexts.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'

export { isMailAddress } from '../model/mail.ts'

/** The content of a mail. */
interface Mail {
  /** One line. */
  readonly subject: string
  readonly text: string
  /** A complete document, without scripts or remote resources. */
  readonly html: string
}

/** A mail with its addresses. */
export interface AddressedMail extends Mail {
  /** Display name of the sender. */
  readonly from: string
  readonly to: string
}

/** Queues mails. */
export interface Mailer {
  /**
   * Durable when the promise resolves. Nothing is sent after `usefulUntil`. Throws `UnusableAddress` unless the address is
   * a single plain one.
   */
  send(zone: Zone, mail: AddressedMail, usefulUntil: Date): Promise<void>
}

/** Thrown for an address to which no mail can be sent; the message contains no part of it. */
export class UnusableAddress extends Error {
  override name = 'UnusableAddress'
  constructor() {
    super('no mail can be sent to this address')
  }
}

/** Dependencies of `createMailer`. */
interface MailerDeps {
  readonly store: { readonly mails: Pick<Store['mails'], 'add'> }
  readonly vault: Vault
  readonly clock: Clock
  readonly random: Random
  /** Called after each mail is queued. */
  readonly onQueued?: ((mail: AddressedMail) => void) | undefined
}

/** One instance serves every zone. */
export function createMailer({ store, vault, clock, random, onQueued }: MailerDeps): Mailer {
  return {
    async send(zone, mail, usefulUntil) {
      if (!isMailAddress(mail.to)) throw new UnusableAddress()
      const id = random.uuid()
      const createdAt = clock.now()
      const { from, to, subject, text, html } = mail
      const sealed = vault.seal(
        JSON.stringify({ from, to, subject, text, html }),
        sealContexts.mail({ id, zoneId: zone.id }),
      )
      await store.mails.add({
        id,
        zoneId: zone.id,
        sealed,
        createdAt,
        nextAttemptAt: createdAt,
        attempts: 0,
        usefulUntil,
      })
      onQueued?.(mail)
    },
  }
}

/** Decrypts a mail encrypted by `send`; throws for anything else. */
export const openMail = (vault: Vault, mail: WaitingMail): AddressedMail =>
  JSON.parse(vault.open(mail.sealed, sealContexts.mail(mail))) as AddressedMail // sealed by `send`
