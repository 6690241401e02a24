// Shared by tests of second factors: an authenticator app, and users who have one.
import assert from 'node:assert/strict'
import { Secret, TOTP } from 'otpauth'
import { digest } from '../../src/base/secrets.ts'
import { hiddenFields } from './forms.ts'
import type { ZoneConfig } from '../../src/model/zones/zone.ts'
import type { FactorMethod } from '../../src/records/user.ts'
import type { Browser, TestServer } from './server.ts'

/** An authenticator app with one secret. */
export interface AuthenticatorApp {
  /** The password that it shows this many seconds from now. */
  code(server: TestServer, seconds?: number): string
}

/** Reads the secret from the page, as typed by a user. */
export function appOf(page: string): AuthenticatorApp {
  const [, text = ''] = /<samp id="secret"[^>]*>([^<]+)<\/samp>/.exec(page) ?? []
  assert.match(text, /^[A-Z2-7 ]{32,}$/)
  const app = new TOTP({ secret: Secret.fromBase32(text.replaceAll(' ', '')) })
  return { code: (server, seconds = 0) => app.generate({ timestamp: server.clock.now().getTime() + seconds * 1000 }) }
}

/** Enrols the user who signs in: returns the app, the recovery codes, and where the page leads. */
export async function enrolApp(
  server: TestServer,
  browser: Browser,
): Promise<{
  readonly app: AuthenticatorApp
  readonly codes: readonly string[]
  readonly continueUrl: string | undefined
}> {
  const page = (await browser.send('/second_factor/app')).text
  const app = appOf(page)
  const answer = await browser.send('/second_factor/app', { form: { ...hiddenFields(page), code: app.code(server) } })
  assert.equal(answer.status, 200, answer.text)
  return { app, codes: codesOf(answer.text), continueUrl: /class="button" href="([^"]+)"/.exec(answer.text)?.[1] }
}

/** The recovery codes of the page that shows them. */
export const codesOf = (page: string): readonly string[] =>
  page.match(/[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}(?=\n<)/g) ?? []

/** Sets the policy of the default zone. */
export async function setPolicy(
  server: TestServer,
  secondFactor: NonNullable<ZoneConfig['secondFactor']>,
): Promise<void> {
  const zone = await server.store.zones.find('svc')
  assert.ok(zone)
  await server.store.zones.update({ ...zone, config: { ...zone.config, secondFactor } })
}

/** Proves a code on the page. */
export async function prove(browser: Browser, form: Readonly<Record<string, string>>) {
  const page = (await browser.send('/second_factor')).text
  return browser.send('/second_factor', { form: { ...hiddenFields(page), ...form } })
}

/** Gives the account a second factor without usable codes. */
export async function giveFactor(
  { store, clock }: TestServer,
  userId: string,
  method: FactorMethod = 'totp',
): Promise<void> {
  const createdAt = clock.now()
  if (method === 'totp') {
    await store.factors.setTotp('svc', userId, { sealedSecret: '', createdAt, lastStep: 0 })
    return
  }
  const key = { id: userId, userId, credentialId: userId, publicKey: '', counter: 0, transports: [], aaguid: '' }
  await store.factors.addPasskey(
    'svc',
    { ...key, isBackedUp: false, isAttested: false, hasVerifiedUser: true, name: 'Key', createdAt },
    1,
  )
}

/** Sets the authentication classes of the browser's session, as after a second factor. */
export async function makeSession(
  { store }: TestServer,
  browser: Browser,
  { acr, amr }: { readonly acr: readonly string[]; readonly amr?: readonly string[] },
): Promise<void> {
  const cookie = browser.cookies.get('svc-session') ?? browser.cookies.get('JSESSIONID') ?? ''
  const session = await store.sessions.find('svc', digest(cookie))
  assert.ok(session?.signIn, 'no user is signed in')
  const signIn = { ...session.signIn, acr, ...(amr && { amr }) }
  await store.sessions.replace('svc', session.idDigest, { ...session, signIn })
}
