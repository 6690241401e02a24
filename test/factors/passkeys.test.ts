// Passkey ceremonies with a software authenticator that can return invalid values.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { userHandle } from '../../src/factors/ceremony.ts'
import type { Ceremony } from '../../src/factors/ceremony.ts'
import { createPasskeys } from '../../src/factors/passkeys.ts'
import type { Passkeys } from '../../src/factors/passkeys.ts'
import type { User } from '../../src/model/users/user.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { cbor, coseOf, createAuthenticator, keyPairFor, signatureOf } from '../support/authenticator.ts'
import type { AssertionOverrides, Cbor, CreationOverrides, Credential } from '../support/authenticator.ts'
import { certify } from '../support/attestation.ts'
import type { Authority } from '../support/attestation.ts'
import { userNamed } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const ORIGIN = 'https://id.example'
const AT: Ceremony = { zoneId: 'svc', baseUrl: `${ORIGIN}/auth`, browser: 'session one' }
const NAME = 'Key'

/** A pseudo-random generator with a fixed seed. */
function seeded(): () => number {
  let state = 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

describe('`createPasskeys`', () => {
  let server: TestServer
  let passkeys: Passkeys
  let marissa: User
  let joel: User
  const browser = createAuthenticator(ORIGIN)
  before(async () => {
    server = await startServer()
    ;[marissa, joel] = [await userNamed(server, 'marissa'), await userNamed(server, 'joel')]
    passkeys = instance()
  })
  beforeEach(async () => {
    for (const { id } of [marissa, joel]) await server.store.factors.reset('svc', id)
  })
  after(() => server.stop())

  const instance = (attestationRoots?: readonly Uint8Array[], store = server.store): Passkeys =>
    createPasskeys({
      ...(attestationRoots && { attestationRoots }),
      store,
      clock: server.clock,
      random: createRandom(),
      vault: createVault(Buffer.alloc(32, 7), createRandom()),
    })

  const ask = (user: User, at = AT) => passkeys.registrationOptions(at, { user, siteName: 'Example' })

  async function register(overrides: CreationOverrides = {}, { user = marissa, at = AT } = {}) {
    const { credential, answer } = browser.create(await ask(user, at), overrides)
    const result = await passkeys.readRegistration(at, { user, answer: JSON.stringify(answer), name: NAME })
    return { credential, result }
  }

  async function enrol(overrides: CreationOverrides = {}, user = marissa): Promise<Credential> {
    const { credential, result } = await register(overrides, { user })
    assert.equal(result.outcome, 'new', JSON.stringify(result))
    assert.ok(result.outcome === 'new' && (await server.store.factors.addPasskey('svc', result.passkey, 20)))
    return credential
  }

  /** Signs in with the credential: as a second factor of a user, or alone. */
  async function prove(
    credential: Credential,
    overrides: AssertionOverrides = {},
    { user, at = AT }: { user?: User; at?: Ceremony } = {},
  ) {
    const answer = browser.get(await passkeys.authenticationOptions(at, user), credential, overrides)
    return passkeys.authenticate(at, { answer: JSON.stringify(answer), ...(user && { user }) })
  }

  const reasonOf = (result: object): string => ('reason' in result ? String(result.reason) : 'accepted')

  describe('registration', () => {
    it('requests this relying party, the supported algorithms, and no attestation', async () => {
      const credential = await enrol()
      const options = await ask(marissa)
      assert.deepEqual(options['rp'], { id: 'id.example', name: 'Example' })
      assert.deepEqual(
        (options['pubKeyCredParams'] as { alg: number }[]).map(({ alg }) => alg),
        [-7, -8, -257],
      )
      assert.equal(options['attestation'], 'none')
      assert.deepEqual(options['excludeCredentials'], [
        { type: 'public-key', id: credential.id, transports: ['internal'] },
      ])
      const handle = (options['user'] as { id: string }).id
      assert.equal(handle, userHandle('svc', marissa.id))
      assert.equal(handle.includes(marissa.id), false)
      assert.deepEqual((await ask(joel))['excludeCredentials'], [], 'none of other users')
    })

    for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
      it(`accepts a key for ${algorithm}`, async () => {
        const credential = await enrol({ algorithm })
        const proof = await prove(credential)
        assert.deepEqual(proof, { outcome: 'proved', userId: marissa.id, level: 'phr', amr: ['pop', 'user'] })
      })
    }

    it('accepts a self attestation', async () => {
      const statement: CreationOverrides['statement'] = (signed, { privateKey, algorithm }) =>
        new Map<string, Cbor>([
          ['alg', -7],
          ['sig', signatureOf(signed, privateKey, algorithm)],
        ])
      const { result } = await register({ format: 'packed', statement })
      assert.equal(result.outcome, 'new')
      const other = keyPairFor('ES256').privateKey
      const forged: CreationOverrides['statement'] = signed =>
        new Map<string, Cbor>([
          ['alg', -7],
          ['sig', signatureOf(signed, other, 'ES256')],
        ])
      assert.equal(reasonOf((await register({ format: 'packed', statement: forged })).result), 'invalid')
    })

    it('stores the authenticator data, and only valid transports', async () => {
      const { answer } = browser.create(await ask(marissa), { backupEligible: true, backedUp: true, counter: 7 })
      const transports = ['internal', 'hybrid', '<b>', 7, 'x'.repeat(21)]
      const text = JSON.stringify({ ...answer, response: { ...answer.response, transports } })
      const result = await passkeys.readRegistration(AT, { user: marissa, answer: text, name: NAME })
      assert.ok(result.outcome === 'new')
      const { id, createdAt, publicKey, ...rest } = result.passkey
      assert.match(id, /^[\w-]{22}$/)
      assert.deepEqual(createdAt, server.clock.now())
      assert.ok(publicKey.length > 90)
      assert.deepEqual(rest, {
        userId: marissa.id,
        credentialId: answer.id,
        counter: 7,
        transports: ['internal', 'hybrid'],
        aaguid: '00000000-0000-0000-0000-000000000000',
        isBackupEligible: true,
        isBackedUp: true,
        isAttested: false,
        hasVerifiedUser: true,
        name: NAME,
      })
    })

    const rsa = (modulusLength: number) => coseOf(generateKeyPairSync('rsa', { modulusLength }).publicKey, 'RS256')
    const point = coseOf(keyPairFor('ES256').publicKey, 'ES256')
    const refusals: readonly {
      readonly name: string
      readonly overrides: () => CreationOverrides
      readonly reason: string
    }[] = [
      { name: 'a page of another origin', overrides: () => ({ origin: 'https://evil.example' }), reason: 'invalid' },
      { name: 'another port of the host', overrides: () => ({ origin: `${ORIGIN}:8443` }), reason: 'invalid' },
      { name: 'http instead of https', overrides: () => ({ origin: 'http://id.example' }), reason: 'invalid' },
      { name: 'another relying party', overrides: () => ({ rpId: 'example' }), reason: 'invalid' },
      {
        name: 'an assertion instead of a registration',
        overrides: () => ({ type: 'webauthn.get' }),
        reason: 'invalid',
      },
      { name: 'another challenge', overrides: () => ({ challenge: 'AAAA' }), reason: 'challenge' },
      { name: 'a page in a frame', overrides: () => ({ clientData: { crossOrigin: true } }), reason: 'challenge' },
      { name: 'no user presence', overrides: () => ({ userPresent: false }), reason: 'invalid' },
      { name: 'a backup without backup eligibility', overrides: () => ({ backedUp: true }), reason: 'invalid' },
      { name: 'an algorithm that was not requested', overrides: () => ({ algorithm: 'ES384' }), reason: 'invalid' },
      {
        name: 'a curve of another algorithm',
        overrides: () => ({ publicKey: new Map([...coseOf(keyPairFor('ES384').publicKey, 'ES384'), [3, -7]]) }),
        reason: 'key',
      },
      {
        name: 'a point that is not on the curve',
        overrides: () => ({ publicKey: new Map([...point, [-3, Buffer.alloc(32, 7)]]) }),
        reason: 'key',
      },
      {
        name: 'a key type of another algorithm',
        overrides: () => ({ publicKey: new Map([...rsa(2048), [3, -7]]) }),
        reason: 'key',
      },
      { name: 'a short RSA key', overrides: () => ({ publicKey: rsa(1024) }), reason: 'key' },
      {
        name: 'a long RSA key',
        overrides: () => ({ publicKey: new Map([...rsa(2048), [-1, Buffer.alloc(1024, 0xff)]]) }),
        reason: 'key',
      },
      {
        name: 'a long RSA exponent',
        overrides: () => ({ publicKey: new Map([...rsa(2048), [-2, Buffer.alloc(255, 0xff)]]) }),
        reason: 'key',
      },
      {
        name: 'an RSA key with an insecure exponent',
        overrides: () => ({ publicKey: new Map([...rsa(2048), [-2, Buffer.from([1])]]) }),
        reason: 'key',
      },
      { name: 'an incomplete key', overrides: () => ({ publicKey: new Map([[3, -7]]) }), reason: 'key' },
      { name: 'a string as a key', overrides: () => ({ publicKey: 'key' }), reason: 'invalid' },
      ...['fido-u2f', 'tpm', 'android-key', 'android-safetynet', 'apple', 'compound', 'unheard-of'].map(format => ({
        name: `an attestation in the unrequested format ${format}`,
        overrides: () => ({ format }),
        reason: 'attestation',
      })),
      {
        name: 'an unrequested certificate chain',
        overrides: () => ({
          format: 'packed',
          statement: (signed, { privateKey }) =>
            new Map<string, Cbor>([
              ['alg', -7],
              ['sig', signatureOf(signed, privateKey, 'ES256')],
              ['x5c', [Buffer.from('certificate')]],
            ]),
        }),
        reason: 'attestation',
      },
      {
        name: 'a statement with the format none',
        overrides: () => ({ statement: () => new Map([['sig', 'signed']]) }),
        reason: 'invalid',
      },
    ]
    for (const { name, overrides, reason } of refusals) {
      it(`refuses ${name}`, async () => {
        assert.equal(reasonOf((await register(overrides())).result), reason)
      })
    }

    it('stores a credential once per zone, up to the limit per user', async () => {
      const { result } = await register()
      assert.ok(result.outcome === 'new')
      assert.equal(await server.store.factors.addPasskey('svc', result.passkey, 1), true)
      const taken = { ...result.passkey, id: 'other', userId: joel.id }
      assert.equal(await server.store.factors.addPasskey('svc', taken, 1), false)
      const second = await register()
      assert.ok(second.result.outcome === 'new')
      assert.equal(await server.store.factors.addPasskey('svc', second.result.passkey, 1), false)
    })
  })

  describe('attestation with configured roots', () => {
    const aaguid = Buffer.from('00112233445566778899aabbccddeeff', 'hex')
    const root = certify({ commonName: 'Root', isAuthority: true })
    const intermediate = certify({ commonName: 'Between', isAuthority: true }, root)
    const unit = 'Authenticator Attestation'
    const key = certify({ commonName: 'Key', unit, aaguid }, intermediate)
    const chain = [key, intermediate]

    /** Registers with this chain, signed by its first key by default. */
    async function attest(
      certificates: readonly Authority[],
      { signer = certificates[0], ...overrides }: CreationOverrides & { signer?: Authority | undefined } = {},
    ) {
      const trusting = instance([root.certificate])
      const asked = await trusting.registrationOptions(AT, { user: marissa, siteName: 'Example' })
      assert.equal(asked['attestation'], 'direct')
      const statement: CreationOverrides['statement'] = signed =>
        new Map<string, Cbor>([
          ['alg', -7],
          ['sig', signer ? signatureOf(signed, signer.privateKey, 'ES256') : Buffer.alloc(8)],
          ['x5c', certificates.map(({ certificate }) => certificate)],
        ])
      const { answer } = browser.create(asked, { format: 'packed', aaguid, statement, ...overrides })
      return trusting.readRegistration(AT, { user: marissa, answer: JSON.stringify(answer), name: NAME })
    }
    const outcomeOf = (result: Awaited<ReturnType<typeof attest>>): string =>
      result.outcome === 'new' ? (result.passkey.isAttested ? 'hardware' : 'unattested') : result.reason

    it('raises the level to phrh', async () => {
      const trusting = instance([root.certificate])
      const asked = await trusting.registrationOptions(AT, { user: marissa, siteName: 'Example' })
      const statement: CreationOverrides['statement'] = signed =>
        new Map<string, Cbor>([
          ['alg', -7],
          ['sig', signatureOf(signed, key.privateKey, 'ES256')],
          ['x5c', chain.map(({ certificate }) => certificate)],
        ])
      const { answer, credential } = browser.create(asked, { format: 'packed', aaguid, statement })
      const sent = { user: marissa, answer: JSON.stringify(answer), name: NAME }
      const result = await trusting.readRegistration(AT, sent)
      assert.ok(result.outcome === 'new' && (await server.store.factors.addPasskey('svc', result.passkey, 20)))
      assert.equal(result.passkey.aaguid, '00112233-4455-6677-8899-aabbccddeeff')
      const proof = await prove(credential)
      assert.deepEqual(proof, { outcome: 'proved', userId: marissa.id, level: 'phrh', amr: ['hwk', 'user'] })
    })

    const stranger = certify({ commonName: 'Root', isAuthority: true })
    const noAuthority = certify({ commonName: 'Between' }, root)
    const expired = certify({ commonName: 'Key', unit, aaguid, to: new Date(Date.UTC(2020, 0)) }, intermediate)
    const cases: readonly (readonly [string, () => ReturnType<typeof attest>, string])[] = [
      ['with the root in the chain', () => attest([...chain, root]), 'hardware'],
      ['without the intermediate certificate', () => attest([key]), 'unattested'],
      [
        'of another root of the same name',
        () => attest([certify({ commonName: 'Key', unit, aaguid }, stranger)]),
        'unattested',
      ],
      [
        'by a certificate that is not an authority',
        () => attest([certify({ commonName: 'Key', unit, aaguid }, noAuthority), noAuthority]),
        'unattested',
      ],
      ['that has expired', () => attest([expired, intermediate]), 'unattested'],
      ['by a malformed certificate', () => attest([{ ...key, certificate: Buffer.from('certificate') }]), 'unattested'],
      ['without certificates', () => attest([], { signer: key }), 'unattested'],
      ['with a chain of more than four', () => attest([...chain, root, root, root]), 'unattested'],
      ['signed by another key', () => attest(chain, { signer: stranger }), 'invalid'],
      ['for another model', () => attest(chain, { aaguid: Buffer.alloc(16, 7) }), 'invalid'],
      ['by an authority itself', () => attest([intermediate, root]), 'invalid'],
      ['of a backed-up passkey', () => attest(chain, { backupEligible: true, backedUp: true }), 'unattested'],
      ['in another format', () => attest(chain, { format: 'tpm' }), 'unattested'],
      ['in an unknown format', () => attest(chain, { format: 'unheard-of' }), 'unattested'],
    ]
    for (const [name, make, outcome] of cases) {
      it(`${name} is ${outcome}`, async () => {
        assert.equal(outcomeOf(await make()), outcome)
      })
    }
  })

  describe('challenge', () => {
    const elsewhere: readonly { readonly name: string; readonly at?: Partial<Ceremony>; readonly other?: true }[] = [
      { name: 'of another session', at: { browser: 'session two' } },
      { name: 'of another zone with the same host', at: { zoneId: 'another' } },
      { name: 'of another user', other: true },
    ]
    for (const { name, at, other } of elsewhere) {
      it(`${name} is refused, at registration and as a second factor`, async () => {
        const options = await ask(other ? joel : marissa, { ...AT, ...at })
        const { answer } = browser.create(options)
        const created = await passkeys.readRegistration(AT, {
          user: marissa,
          answer: JSON.stringify(answer),
          name: NAME,
        })
        assert.equal(reasonOf(created), 'challenge')
        const credential = await enrol()
        const asked = await passkeys.authenticationOptions({ ...AT, ...at }, other ? joel : marissa)
        const got = JSON.stringify(browser.get(asked, credential))
        assert.equal(reasonOf(await passkeys.authenticate(AT, { answer: got, user: marissa })), 'challenge')
      })
    }

    it('is valid only for its own purpose', async () => {
      const credential = await enrol()
      const ways = {
        registration: await ask(marissa),
        'second factor': await passkeys.authenticationOptions(AT, marissa),
        'sign-in': await passkeys.authenticationOptions(AT),
      }
      for (const [purpose, { challenge }] of Object.entries(ways)) {
        const overrides = { challenge: String(challenge) }
        const results = {
          registration: (await register(overrides)).result,
          'second factor': await prove(credential, overrides, { user: marissa }),
          'sign-in': await prove(credential, overrides),
        }
        for (const [use, result] of Object.entries(results)) {
          assert.equal(reasonOf(result), use === purpose ? 'accepted' : 'challenge', `${purpose} as ${use}`)
        }
      }
    })

    it('is valid for five minutes', async () => {
      const credential = await enrol()
      const asked = await passkeys.authenticationOptions(AT)
      server.clock.advance(299)
      const answer = JSON.stringify(browser.get(asked, credential))
      assert.equal((await passkeys.authenticate(AT, { answer })).outcome, 'proved')
      const again = await passkeys.authenticationOptions(AT)
      server.clock.advance(300)
      const late = JSON.stringify(browser.get(again, credential))
      assert.equal(reasonOf(await passkeys.authenticate(AT, { answer: late })), 'expired')
    })

    it('can be used once across processes, also concurrently', async () => {
      const credential = await enrol()
      const answer = JSON.stringify(browser.get(await passkeys.authenticationOptions(AT), credential))
      const other = instance()
      const both = await Promise.all([passkeys, other].map(each => each.authenticate(AT, { answer })))
      assert.deepEqual(both.map(reasonOf).toSorted(), ['accepted', 'used'])
      assert.equal(reasonOf(await other.authenticate(AT, { answer })), 'used')
      const created = browser.create(await ask(marissa))
      const sent = { user: marissa, answer: JSON.stringify(created.answer), name: NAME }
      assert.equal((await passkeys.readRegistration(AT, sent)).outcome, 'new')
      assert.equal(reasonOf(await other.readRegistration(AT, sent)), 'used')
    })

    it('throws StoreUnavailable if the database is unavailable', async () => {
      const credential = await enrol()
      const use = () => Promise.reject(new StoreUnavailable('unavailable'))
      const cutOff = instance([], { ...server.store, assertions: { ...server.store.assertions, use } })
      const proof = JSON.stringify(browser.get(await passkeys.authenticationOptions(AT), credential))
      await assert.rejects(cutOff.authenticate(AT, { answer: proof }), StoreUnavailable)
      const created = JSON.stringify(browser.create(await ask(marissa)).answer)
      const sent = { user: marissa, answer: created, name: NAME }
      await assert.rejects(cutOff.readRegistration(AT, sent), StoreUnavailable)
    })

    it('is not used up by an invalid response', async () => {
      const credential = await enrol()
      const asked = await passkeys.authenticationOptions(AT)
      const wrong = JSON.stringify(browser.get(asked, credential, { key: keyPairFor('ES256').privateKey }))
      assert.equal(reasonOf(await passkeys.authenticate(AT, { answer: wrong })), 'invalid')
      const right = JSON.stringify(browser.get(asked, credential))
      assert.equal((await passkeys.authenticate(AT, { answer: right })).outcome, 'proved')
    })
  })

  describe('authentication', () => {
    it('requests no specific credential for passwordless sign-in', async () => {
      await enrol()
      const options = await passkeys.authenticationOptions(AT)
      assert.deepEqual(Object.keys(options).toSorted(), ['challenge', 'rpId', 'timeout', 'userVerification'])
      assert.equal(options['userVerification'], 'required')
    })

    it('requests only credentials of the user as a second factor', async () => {
      const credential = await enrol()
      await enrol({}, joel)
      const options = await passkeys.authenticationOptions(AT, marissa)
      assert.deepEqual(
        (options['allowCredentials'] as { id: string }[]).map(({ id }) => id),
        [credential.id],
      )
    })

    const refusals: readonly {
      readonly name: string
      readonly overrides: AssertionOverrides
      readonly reason: string
      /** Also as a second factor, unless it matters only without one. */
      readonly alone?: true
    }[] = [
      { name: 'a page of another origin', overrides: { origin: 'https://evil.example' }, reason: 'invalid' },
      { name: 'a sibling host', overrides: { origin: 'https://other.id.example' }, reason: 'invalid' },
      { name: 'http instead of https', overrides: { origin: 'http://id.example' }, reason: 'invalid' },
      { name: 'another relying party', overrides: { rpId: 'other.example' }, reason: 'invalid' },
      { name: 'a registration instead of an assertion', overrides: { type: 'webauthn.create' }, reason: 'invalid' },
      { name: 'another challenge', overrides: { challenge: 'AAAA' }, reason: 'challenge' },
      { name: 'a page in a frame', overrides: { clientData: { crossOrigin: true } }, reason: 'challenge' },
      {
        name: 'a page in a frame, with a string as crossOrigin',
        overrides: { clientData: { crossOrigin: 'yes' } },
        reason: 'challenge',
      },
      {
        name: 'a top origin without a frame',
        overrides: { clientData: { topOrigin: 'https://evil.example' } },
        reason: 'invalid',
      },
      { name: 'no user presence', overrides: { userPresent: false }, reason: 'invalid' },
      { name: 'no user verification', overrides: { userVerified: false }, reason: 'invalid', alone: true },
      { name: 'a signature of another key', overrides: { key: keyPairFor('ES256').privateKey }, reason: 'invalid' },
      { name: 'an invalid signature', overrides: { signature: Buffer.from('signed') }, reason: 'invalid' },
      { name: 'an unknown credential', overrides: { id: 'AAAA' }, reason: 'unknown' },
      { name: 'the handle of another user', overrides: { userHandle: 'AAAA' }, reason: 'other-person' },
      { name: 'no handle', overrides: { userHandle: undefined }, reason: 'other-person', alone: true },
    ]
    for (const { name, overrides, reason, alone } of refusals) {
      it(`refuses ${name}`, async () => {
        const credential = await enrol()
        assert.equal(reasonOf(await prove(credential, overrides)), reason)
        const second = await prove(credential, overrides, { user: marissa })
        assert.equal(reasonOf(second), alone ? 'accepted' : reason, 'as a second factor')
      })
    }

    it('refuses the credential of another user, regardless of the user handle', async () => {
      const theirs = await enrol({}, joel)
      await enrol()
      assert.equal(reasonOf(await prove(theirs, {}, { user: marissa })), 'other-person')
      const handle = userHandle('svc', marissa.id)
      assert.equal(reasonOf(await prove(theirs, { userHandle: handle }, { user: marissa })), 'other-person')
      assert.equal(reasonOf(await prove(theirs, { userHandle: handle })), 'other-person')
    })

    it('refuses a credential of another zone on the same host', async () => {
      const credential = await enrol()
      const there = { ...AT, zoneId: 'another' }
      assert.equal(reasonOf(await prove(credential, {}, { at: there })), 'unknown')
      assert.equal(
        reasonOf(await prove(credential, { userHandle: userHandle('another', marissa.id) }, { at: there })),
        'unknown',
      )
      assert.notEqual(userHandle('another', marissa.id), userHandle('svc', marissa.id))
    })

    it('refuses a removed credential', async () => {
      const credential = await enrol()
      const [passkey] = await server.store.factors.passkeysOf('svc', marissa.id)
      await server.store.factors.removePasskey('svc', { userId: marissa.id, id: passkey?.id ?? '' })
      assert.equal(reasonOf(await prove(credential)), 'unknown')
    })

    it('refuses a counter that does not increase, and keeps the stored one', async () => {
      const credential = await enrol({ counter: 5 })
      assert.equal(reasonOf(await prove(credential)), 'accepted')
      for (const counter of [6, 5, 1, 0]) {
        assert.equal(reasonOf(await prove(credential, { counter })), 'counter', String(counter))
      }
      const [passkey] = await server.store.factors.passkeysOf('svc', marissa.id)
      assert.equal(passkey?.counter, 6)
      assert.equal(reasonOf(await prove(credential, { counter: 4_294_967_295 })), 'accepted')
    })

    // Web Authentication Level 3 §4, uvInitialized: anyone who finds a security key without a PIN can give it one.
    it('requires user verification as a second factor before passwordless sign-in', async () => {
      const credential = await enrol({ userVerified: false })
      assert.equal(reasonOf(await prove(credential)), 'never-verified')
      assert.equal(reasonOf(await prove(credential, { userVerified: false }, { user: marissa })), 'accepted')
      assert.equal(reasonOf(await prove(credential)), 'never-verified')
      assert.equal(reasonOf(await prove(credential, {}, { user: marissa })), 'accepted')
      assert.equal(reasonOf(await prove(credential)), 'accepted')
      assert.equal(reasonOf(await prove(credential, { userVerified: false }, { user: marissa })), 'accepted')
      assert.equal(reasonOf(await prove(credential)), 'accepted', 'the verification is stored')
    })

    // Web Authentication Level 3 §7.2.
    for (const backupEligible of [true, false]) {
      it(`refuses a credential that ${backupEligible ? 'loses' : 'gains'} backup eligibility`, async () => {
        const credential = await enrol({ backupEligible })
        const other = { backupEligible: !backupEligible }
        assert.equal(reasonOf(await prove(credential, other)), 'eligibility')
        assert.equal(reasonOf(await prove(credential, other, { user: marissa })), 'eligibility')
        assert.equal(reasonOf(await prove(credential, { backupEligible })), 'accepted')
      })
    }

    it('stores the backup eligibility of an older credential at its next use', async () => {
      const { credential, result } = await register()
      assert.ok(result.outcome === 'new')
      const { isBackupEligible: _, ...older } = result.passkey
      assert.ok(await server.store.factors.addPasskey('svc', older, 20))
      assert.equal(reasonOf(await prove(credential, { backupEligible: true })), 'accepted')
      assert.equal(reasonOf(await prove(credential)), 'eligibility')
      assert.equal(reasonOf(await prove(credential, { backupEligible: true })), 'accepted')
    })

    it('returns amr without `user`, and stores the backup state', async () => {
      const credential = await enrol({ backupEligible: true })
      const proof = await prove(
        credential,
        { userVerified: false, backupEligible: true, backedUp: true },
        { user: marissa },
      )
      assert.ok(proof.outcome === 'proved')
      assert.deepEqual(proof.amr, ['pop'])
      const [passkey] = await server.store.factors.passkeysOf('svc', marissa.id)
      assert.equal(passkey?.isBackedUp, true)
      assert.deepEqual(passkey?.lastUsedAt, server.clock.now())
    })
  })

  describe('malformed response', () => {
    const long = 'A'.repeat(16_384)
    const client = Buffer.from('{"type":"webauthn.get"}').toString('base64url')
    const answers: readonly (readonly [string, (good: Record<string, object>) => unknown])[] = [
      ['an empty string', () => ''],
      ['no JSON', () => '{"id":'],
      ['a string', () => '"credential"'],
      ['null', () => 'null'],
      ['an array', good => [good]],
      ['an empty object', () => ({})],
      ['no response', good => ({ ...good, response: undefined })],
      ['a response that is an array', good => ({ ...good, response: [] })],
      ['a response that is null', good => ({ ...good, response: null })],
      ['an id that is a number', good => ({ ...good, id: 7 })],
      ['an id that is not base64url', good => ({ ...good, id: 'a+b/' })],
      ['an id that is too long', good => ({ ...good, id: 'A'.repeat(1365) })],
      ['no client data', good => ({ ...good, response: { ...good['response'], clientDataJSON: undefined } })],
      ['client data that is an object', good => ({ ...good, response: { ...good['response'], clientDataJSON: {} } })],
      [
        'client data that is not base64url',
        good => ({ ...good, response: { ...good['response'], clientDataJSON: '{}' } }),
      ],
      ['a signature that is an array', good => ({ ...good, response: { ...good['response'], signature: ['AAAA'] } })],
      ['no authenticator data', good => ({ ...good, response: { ...good['response'], authenticatorData: '' } })],
      ['a user handle that is an object', good => ({ ...good, response: { ...good['response'], userHandle: {} } })],
      ['more than 16 kB', good => ({ ...good, more: long })],
      ['a __proto__ member', () => '{"__proto__":{"id":"AAAA","response":{}}}'],
    ]
    for (const [name, make] of answers) {
      it(`is refused: ${name}`, async () => {
        const credential = await enrol()
        const good = browser.get(await passkeys.authenticationOptions(AT), credential)
        const answer = make(good as unknown as Record<string, object>) // to be spread
        const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
        assert.equal(reasonOf(await passkeys.authenticate(AT, { answer: text })), 'malformed')
        assert.equal(
          reasonOf(await passkeys.readRegistration(AT, { user: marissa, answer: text, name: NAME })),
          'malformed',
        )
      })
    }

    it('is refused: client data that is not JSON, or has no challenge', async () => {
      const credential = await enrol()
      const good = browser.get(await passkeys.authenticationOptions(AT), credential)
      for (const clientDataJSON of [
        client,
        'AAAA',
        Buffer.from('null').toString('base64url'),
        Buffer.from('{"challenge":7}').toString('base64url'),
      ]) {
        const answer = JSON.stringify({ ...good, response: { ...good.response, clientDataJSON } })
        assert.equal(reasonOf(await passkeys.authenticate(AT, { answer })), 'challenge')
      }
    })

    it('is refused: invalid or deeply nested CBOR', async () => {
      const { answer } = browser.create(await ask(marissa))
      const nested = Buffer.alloc(8000, 0x81)
      const huge = Buffer.from('9bffffffffffffffff', 'hex')
      const bytes = Buffer.from('5bffffffffffffffff00', 'hex')
      const object = Buffer.from(answer.response.attestationObject, 'base64url')
      const cases = [nested, huge, bytes, cbor('none'), cbor(new Map([['fmt', 'none']])), object.subarray(0, 90)]
      for (const attestation of cases) {
        const attestationObject = attestation.toString('base64url')
        const text = JSON.stringify({ ...answer, response: { ...answer.response, attestationObject } })
        const result = await passkeys.readRegistration(AT, { user: marissa, answer: text, name: NAME })
        assert.equal(result.outcome, 'refused', attestationObject.slice(0, 20))
      }
      const credential = await enrol()
      const good = browser.get(await passkeys.authenticationOptions(AT), credential)
      for (const authenticatorData of ['AAAA', 'A'.repeat(8000)]) {
        const text = JSON.stringify({ ...good, response: { ...good.response, authenticatorData } })
        assert.equal(reasonOf(await passkeys.authenticate(AT, { answer: text })), 'invalid')
      }
    })

    it('is refused or accepted after random changes (fuzzing)', async () => {
      const credential = await enrol()
      const random = seeded()
      const change = (text: string): string => {
        const bytes = Buffer.from(text, 'base64url')
        const place = Math.floor(random() * bytes.length)
        if (random() < 0.2) return bytes.subarray(0, place).toString('base64url')
        bytes[place] = Math.floor(random() * 256)
        return bytes.toString('base64url')
      }
      for (let round = 0; round < 300; round += 1) {
        const { answer } = browser.create(await ask(marissa), { format: round % 2 === 0 ? 'none' : 'packed' })
        const attestationObject = change(answer.response.attestationObject)
        const created = JSON.stringify({ ...answer, response: { ...answer.response, attestationObject } })
        const sent = { user: marissa, answer: created, name: NAME }
        assert.match((await passkeys.readRegistration(AT, sent)).outcome, /^(?:new|refused)$/)
        const good = browser.get(await passkeys.authenticationOptions(AT), credential)
        const authenticatorData = change(good.response.authenticatorData)
        const got = JSON.stringify({ ...good, response: { ...good.response, authenticatorData } })
        const isSame = authenticatorData === good.response.authenticatorData
        const { outcome } = await passkeys.authenticate(AT, { answer: got })
        assert.equal(outcome, isSame ? 'proved' : 'refused')
      }
    })
  })
})
