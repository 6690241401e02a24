// The hint that a provider needs at logout, such as its ID token: sealed in the row of the session.
import type { Vault } from '../../base/secrets.ts'
import { sealContexts } from '../../model/seal-contexts.ts'
import type { SignedInUser } from './current-session.ts'

/** Characters; a longer hint would make the URL of the logout longer than many servers accept. */
const MAX_HINT_LENGTH = 4096

const contextOf = ({ zoneId, signIn }: SignedInUser['session']): string =>
  sealContexts.idTokenOfSession(zoneId, signIn.sessionSalt)

/** Undefined for one that is too long to keep. */
export const sealedHint = (vault: Vault, session: SignedInUser['session'], hint: string): string | undefined =>
  hint.length <= MAX_HINT_LENGTH ? vault.seal(hint, contextOf(session)) : undefined

/** Undefined for one that is damaged: a logout must work without it. */
export function openedHint(vault: Vault, session: SignedInUser['session'], sealed: string): string | undefined {
  try {
    return vault.open(sealed, contextOf(session))
  } catch {
    return undefined
  }
}
