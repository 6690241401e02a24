// The part of the store's interface that is about the queue of mails.
import type { WaitingMail } from '../model/mail.ts'

/** Mails that wait to be sent. */
export interface MailStore {
  /** Queues a mail whose first attempt is due. */
  add(mail: WaitingMail): Promise<void>
  /** At most `count` mails, newest first. */
  newest(count: number): Promise<readonly WaitingMail[]>
  /** Whether a mail may be sent now; a single index lookup. */
  isDue(now: Date): Promise<boolean>
  /**
   * Takes or renews the lease of the only sender and, if it is the holder's, one mail that is due: no other process gets it
   * before `mailUntil`. The attempt is counted.
   */
  claim(claim: MailClaim): Promise<{ readonly isHolder: boolean; readonly mail?: WaitingMail }>
  /** Renews the lease; false if it is another's. */
  renew(holder: string, leaseMilliseconds: number): Promise<boolean>
  /** Ends the lease if it is the holder's. */
  release(holder: string): Promise<void>
  /** Ends a claim: the mail waits until `nextAttemptAt`. Does nothing if another process has claimed the mail since. */
  postpone(claimed: WaitingMail, nextAttemptAt: Date, attempts: number): Promise<void>
  delete(mail: WaitingMail): Promise<void>
  /** Deletes at most 200 expired mails; returns their number. */
  deleteExpired(now: Date): Promise<number>
  /** How many mails wait, counted up to 10,000, and since when the first one does. */
  waiting(): Promise<{ readonly count: number; readonly since?: Date }>
}

/** Arguments of `MailStore.claim`. */
interface MailClaim {
  /** An id of the process. */
  readonly holder: string
  readonly now: Date
  readonly leaseMilliseconds: number
  readonly mailUntil: Date
  /** Which of the mails that are due: the one that waited longest, or the last one. */
  readonly end: 'oldest' | 'newest'
}
