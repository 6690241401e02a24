// Passkeys whose hardware is attested (Web Authentication Level 3 §6.5), from the page to the level of the session.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { digest } from '../../../src/base/secrets.ts'
import { authorizeBootstrap, signedIn } from '../../support/authorize.ts'
import { certify, pemOf } from '../../support/attestation.ts'
import { createAuthenticator, signatureOf } from '../../support/authenticator.ts'
import type { Cbor, CreationOverrides } from '../../support/authenticator.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { userNamed } from '../../support/oauth.ts'
import { setPolicy } from '../../support/second-factor.ts'
import type { Browser, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const device = createAuthenticator('http://localhost:8080')
const aaguid = Buffer.from('00112233445566778899aabbccddeeff', 'hex')
const root = certify({ commonName: 'Root', isAuthority: true })
const key = certify({ commonName: 'Key', unit: 'Authenticator Attestation', aaguid }, root)
const attested: CreationOverrides = {
  format: 'packed',
  aaguid,
  statement: signed =>
    new Map<string, Cbor>([
      ['alg', -7],
      ['sig', signatureOf(signed, key.privateKey, 'ES256')],
      ['x5c', [key.certificate]],
    ]),
}

/** Adds a passkey on the page. */
async function add(
  browser: Browser,
  { page, action }: { readonly page: string; readonly action: string },
  overrides: CreationOverrides,
): Promise<void> {
  const { text } = await browser.send(page)
  const { answer } = device.create(JSON.parse(unescaped(/data-options="([^"]*)"/.exec(text)?.[1] ?? 'null')), overrides)
  const sent = await browser.send(action, { form: { ...hiddenFields(text), credential: JSON.stringify(answer) } })
  assert.equal(sent.status, 200, sent.text)
}

describe('Passkey added where attestation counts', () => {
  let server: TestServer
  before(async () => {
    const passkeys = { attestation_roots: pemOf(root) }
    server = await startServer({ config: { bootstrap: authorizeBootstrap, passkeys } })
  })
  beforeEach(async () => {
    await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  for (const { requirement, ...at } of [
    { requirement: 'required', page: '/second_factor', action: '/second_factor/passkey' },
    { requirement: 'optional', page: '/profile/security/passkey', action: '/profile/security/passkey' },
  ] as const) {
    for (const { name, overrides, acr, amr } of [
      { name: 'attested', overrides: attested, acr: 'phrh', amr: 'hwk' },
      { name: 'other', overrides: {}, acr: 'phr', amr: 'pop' },
    ]) {
      it(`at ${at.page}: an ${name} one gives the session the level ${acr}`, async () => {
        await setPolicy(server, { requirement })
        const browser = await signedIn(server)
        await add(browser, at, overrides)
        const session = await server.store.sessions.find('svc', digest(browser.cookies.get('svc-session') ?? ''))
        assert.deepEqual(session?.signIn?.acr, [acr])
        assert.deepEqual(session.signIn.amr, ['pwd', amr, 'mfa'])
      })
    }
  }
})
