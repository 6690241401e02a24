// Verifies that the servers do the measured work: issued tokens are valid, used and revoked ones are not.
import { generateKeyPairSync } from 'node:crypto'
import type { Accounts } from './accounts.ts'
import { createSigner } from './assertions.ts'
import { obtainRefreshToken, signIn } from './browser.ts'
import { createProver } from './dpop.ts'
import { authorizedForm, expectFreshJwts, expectRefusal, form, refuseWrongSecret, send, tokenOf } from './requests.ts'
import type { Endpoints, HttpRequest } from './requests.ts'

/** The token is active, and unauthenticated callers are refused. */
export async function proveIntrospection(request: HttpRequest): Promise<void> {
  const { active, client_id: clientId } = await send(request)
  if (active !== true || typeof clientId !== 'string') throw new Error('the token is not active')
  await refuseWrongSecret(request)
}

/** An assertion is accepted once, and only if signed with the client's key. */
export async function proveAssertions({ token, ...endpoints }: Endpoints, { signer, scope }: Accounts): Promise<void> {
  const fields = { grant_type: 'client_credentials', scope }
  const sign = await createSigner(signer, token)
  await expectFreshJwts(
    async () => tokenOf(authorizedForm(token, { ...fields, ...(await sign()) })),
    { token, ...endpoints },
    'ES256',
  )
  const used = authorizedForm(token, { ...fields, ...(await sign()) })
  await tokenOf(used)
  await expectRefusal(used, 401, 'an assertion that was used before')
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const forge = await createSigner({ ...signer, privateKey: { ...signer.privateKey, ...other } }, token)
  await expectRefusal(authorizedForm(token, { ...fields, ...(await forge()) }), 401, 'an assertion of another key')
}

/** A proof is accepted once, and the token is bound to its key. */
export async function proveProofs({ token, ...endpoints }: Endpoints, { service, scope }: Accounts): Promise<void> {
  const prove = createProver(token)
  const fields = { grant_type: 'client_credentials', scope }
  const proven = (proof: string): HttpRequest => {
    const request = form(token, fields, service.ES256)
    return { ...request, headers: { ...request.headers, dpop: proof } }
  }
  const ask = async (): Promise<string> => tokenOf(proven(await prove()))
  const payloads = await expectFreshJwts(ask, { token, ...endpoints }, 'ES256')
  if (payloads.some(({ cnf }) => cnf === undefined)) throw new Error('the token is bound to nothing')
  const used = proven(await prove())
  await tokenOf(used)
  await expectRefusal(used, 400, 'a proof that was used before')
}

/** A revoked token is not active. */
export async function proveRevocation(
  endpoints: Endpoints,
  { service, resourceServer, scope }: Accounts,
): Promise<void> {
  const fields = { grant_type: 'client_credentials', scope, token_format: 'opaque' }
  const token = await tokenOf(form(endpoints.token, fields, service.opaque))
  const introspection = form(endpoints.introspection, { token }, resourceServer)
  const revocation = form(endpoints.revocation, { token }, service.opaque)
  await refuseWrongSecret(revocation)
  if ((await send(introspection)).active !== true) throw new Error('the token is not active')
  const { status } = await fetch(revocation.url, { ...revocation })
  if (status !== 200) throw new Error(`${revocation.url} answers ${status}`)
  if ((await send(introspection)).active !== false) throw new Error('the token is still active')
}

/** A rotated refresh token is refused. */
export async function proveRotation(endpoints: Endpoints, accounts: Accounts): Promise<void> {
  const { user, scope } = accounts
  const client = accounts.refreshing.rotated
  const refresh = (token: string): HttpRequest =>
    form(endpoints.token, { grant_type: 'refresh_token', refresh_token: token }, client)
  const person = { endpoints, client, user, scope, redirectUri: client.redirectUri ?? '' }
  let token = await obtainRefreshToken(person)
  await refuseWrongSecret(refresh(token))
  const first = token
  const ask = async (): Promise<string> => {
    const { access_token: access, refresh_token: next } = await send(refresh(token))
    if (typeof access !== 'string' || typeof next !== 'string') throw new Error('no tokens')
    token = next
    return access
  }
  await expectFreshJwts(ask, endpoints, 'ES256')
  await expectRefusal(refresh(first), 400, 'a refresh token that was replaced')
}

/** A wrong password is refused. */
export async function proveSignIn(endpoints: Endpoints, { application, user, scope }: Accounts): Promise<void> {
  const client = application.ES256
  const wrong = { ...user, password: `${user.password}x` }
  const person = { endpoints, client, user: wrong, scope, redirectUri: client.redirectUri ?? '' }
  const signedIn = await signIn(person, new Map()).then(
    () => true,
    () => false,
  )
  if (signedIn) throw new Error('a wrong password was accepted')
}

/** Each request returns a new refresh token, which the other client can redeem. */
export async function proveUserToken(request: HttpRequest, endpoints: Endpoints, accounts: Accounts): Promise<void> {
  const tokens = [await tokenOf(request, 'refresh_token'), await tokenOf(request, 'refresh_token')]
  const [token = '', another] = tokens
  if (token === another) throw new Error('the same token was issued twice')
  const fields = { grant_type: 'refresh_token', refresh_token: token }
  await tokenOf(form(endpoints.token, fields, accounts.console))
  const headers = { ...request.headers, authorization: `${request.headers.authorization ?? ''}x` }
  await expectRefusal({ ...request, headers }, 401, 'a wrong token')
}
