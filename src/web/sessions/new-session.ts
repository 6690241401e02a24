import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { digest } from '../../base/secrets.ts'
import type { Session } from '../../model/sessions/session.ts'

/** Characters of the value of a session cookie. */
export const ID_LENGTH = 43

/** A session, and the value of its cookie. */
export interface NewSession {
  readonly id: string
  readonly session: Session
}

/** A session without a user, and the value of its cookie; it ends at `endsAt` at the latest. */
export function newSession(
  { random, clock }: { readonly random: Random; readonly clock: Clock },
  {
    zoneId,
    lifeSeconds,
    endsAt,
  }: { readonly zoneId: string; readonly lifeSeconds: number; readonly endsAt?: Date | undefined },
): NewSession {
  const id = random.urlSafe(ID_LENGTH)
  const now = clock.now()
  const latest = addSeconds(now, lifeSeconds)
  const expiresAt = endsAt && endsAt < latest ? endsAt : latest
  return { id, session: { zoneId, idDigest: digest(id), createdAt: now, lastSeenAt: now, expiresAt } }
}
