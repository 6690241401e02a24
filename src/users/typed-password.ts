// Passwords as users type them. Keyboards and systems write the same letter in different Unicode forms: an umlaut may be one
// character, or a letter with a combining mark. Not for client secrets, or for passwords that another server verifies.
import type { Requester } from '../base/concurrency/fair-queue.ts'
import type { Passwords } from '../base/passwords.ts'
import { normalized } from '../base/text/normalized.ts'

/** The form that is hashed and that the password policy sees (NIST SP 800-63B-4 §3.1.1.2). */
export const passwordForm = (typed: string): string => normalized(typed, 'NFC')

/** What `matchingForm` compares. */
interface TypedPassword {
  readonly typed: string
  /** If the account has none, the comparison takes as long. */
  readonly hash: string | undefined
  readonly requester?: Requester | undefined
}

/**
 * The form of the password that the hash was made of, or undefined if it is another password. Imported hashes, and those of
 * earlier versions, were made of what was typed: it is tried as well if it differs.
 */
export async function matchingForm(
  { typed, hash, requester }: TypedPassword,
  passwords: Pick<Passwords, 'verify' | 'verifyPlaceholder'>,
): Promise<string | undefined> {
  for (const form of new Set([passwordForm(typed), typed])) {
    const isRight =
      hash === undefined
        ? await passwords.verifyPlaceholder(form, requester)
        : await passwords.verify(hash, form, requester)
    if (isRight) return form
  }
  return undefined
}

/** Whether the password is that of the hash. */
export const isTypedPassword = async (password: TypedPassword, passwords: Passwords): Promise<boolean> =>
  (await matchingForm(password, passwords)) !== undefined

/** The hash of a new password. */
export const hashTyped = (typed: string, passwords: Pick<Passwords, 'hash'>, requester?: Requester): Promise<string> =>
  passwords.hash(passwordForm(typed), requester)
