// Logout tokens (OpenID Connect Back-Channel Logout §2.4).
import { addSeconds, epochSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Client } from '../../model/clients/client.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Subjects } from '../../model/tokens/subject.ts'
import type { Urls } from '../../model/urls.ts'
import { clientKey } from '../../token/keys/key-choice.ts'
import type { KeyRing } from '../../token/keys/keys.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** §2.4 asks for two minutes at most. */
const LIFE_SECONDS = 120

/** Dependencies for creating a logout token. */
export interface LogoutTokenDeps {
  readonly keys: KeyRing
  readonly subjects: Subjects
  readonly urls: Urls
  readonly clock: Clock
  readonly random: Random
}

/** A signed token; of a type of its own, so that it is never taken for an ID token. Throws `NoSigningKey`. */
export async function logoutToken(
  zone: AddressedZone,
  { client, userId, sid }: { readonly client: Client; readonly userId: string; readonly sid: string },
  { keys, subjects, urls, clock, random }: LogoutTokenDeps,
): Promise<string> {
  const key = await clientKey('id_token', { zone, client, keys })
  const now = clock.now()
  return key.sign('logout+jwt', {
    iss: urls.issuer(zone),
    sub: subjects.of(zone, client, { id: userId }),
    aud: client.clientId,
    iat: epochSeconds(now),
    exp: epochSeconds(addSeconds(now, LIFE_SECONDS)),
    jti: random.hex(16),
    events: { [EVENT]: {} },
    sid,
  })
}
