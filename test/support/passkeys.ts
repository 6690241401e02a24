// Shared by tests of passkeys: accounts with one, and browsers that sign in with it.
import assert from 'node:assert/strict'
import type { User } from '../../src/model/users/user.ts'
import { cbor, createAuthenticator } from './authenticator.ts'
import type { AssertionOverrides, Credential } from './authenticator.ts'
import { hiddenFields } from './forms.ts'
import { userHandle } from '../../src/factors/ceremony.ts'
import type { TestAnswer, TestRequest, TestServer } from './server.ts'

/** Sends requests with cookies. */
export interface Sender {
  send(path: string, request?: TestRequest): Promise<TestAnswer>
}

/** Gives the account a passkey, as if it had been registered. */
export async function givePasskey(
  { store, clock, baseUrl }: TestServer,
  user: User,
  zoneId = 'svc',
  { hasVerifiedUser = true } = {},
): Promise<Credential> {
  const asked = { challenge: '', rp: { id: new URL(baseUrl).hostname }, user: { id: userHandle(zoneId, user.id) } }
  const { credential } = createAuthenticator(new URL(baseUrl).origin).create(asked)
  const passkey = {
    id: credential.id.slice(0, 22),
    userId: user.id,
    credentialId: credential.id,
    publicKey: cbor(credential.cose).toString('base64url'),
    counter: 0,
    transports: ['internal'],
    aaguid: '00000000-0000-0000-0000-000000000000',
    isBackedUp: false,
    isAttested: false,
    hasVerifiedUser,
    name: 'Key',
    createdAt: clock.now(),
  }
  assert.ok(await store.factors.addPasskey(zoneId, passkey, 20))
  return credential
}

/** The request of the sign-in page's script. */
export async function passkeyForm(
  { baseUrl }: TestServer,
  browser: Sender,
  { credential, overrides, prefix = '' }: { credential: Credential; overrides?: AssertionOverrides; prefix?: string },
): Promise<Readonly<Record<string, string>>> {
  const page = await browser.send(`${prefix}/login`)
  const [, text = ''] = /<form [^>]*data-passkey="get"[^>]*>(.*?)<\/form>/s.exec(page.text) ?? []
  assert.notEqual(text, '', 'the page offers no passkeys')
  const fields = hiddenFields(text)
  const options = await browser.send(`${prefix}/login/passkey/options`, { form: fields })
  assert.equal(options.status, 200, options.text)
  const answer = createAuthenticator(new URL(baseUrl).origin).get(options.json(), credential, overrides)
  return { ...fields, credential: JSON.stringify(answer) }
}

/** Signs in with the passkey as the page does. */
export async function signInWithPasskey(
  server: TestServer,
  browser: Sender,
  { prefix = '', ...rest }: { credential: Credential; overrides?: AssertionOverrides; prefix?: string },
): Promise<TestAnswer> {
  return browser.send(`${prefix}/login/passkey`, { form: await passkeyForm(server, browser, { prefix, ...rest }) })
}
