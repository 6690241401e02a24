// Signed authorization responses (JARM): all parameters in one JWT, in success and in error.
import { addSeconds } from '../../../base/clock.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import type { AddressedZone } from '../../../model/request.ts'
import { clientKey } from '../../../token/keys/key-choice.ts'
import type { ResponseParameters, ResponseTarget } from './redirect.ts'
import type { OAuthDeps } from '../../deps.ts'

/** JARM §2.1 recommends at most ten minutes. */
const RESPONSE_SECONDS = 300

interface Unsigned {
  readonly parameters: ResponseParameters
  readonly deps: Pick<OAuthDeps, 'store' | 'keys' | 'clock' | 'urls'>
}

/** The one parameter `response` in place of all others. */
export async function inSignedResponse(
  zone: AddressedZone,
  { clientId }: Pick<ResponseTarget, 'clientId'>,
  { parameters, deps }: Unsigned,
): Promise<ResponseParameters> {
  const { store, keys, clock, urls } = deps
  const client = await store.clients.find(zone.id, clientId) // cached
  if (!client) throw new OAuthError('server_error', 'The client has been deleted')
  const key = await clientKey('response', { zone, client, keys })
  const exp = Math.floor(addSeconds(clock.now(), RESPONSE_SECONDS).getTime() / 1000)
  const claims = { ...parameters, iss: urls.issuer(zone), aud: clientId, exp }
  return { response: await key.sign('JWT', claims) }
}
