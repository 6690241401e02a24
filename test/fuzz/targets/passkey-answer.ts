import assert from 'node:assert/strict'
import { hash, verify } from 'node:crypto'
import fc from 'fast-check'
import { createVault, digest } from '../../../src/base/secrets.ts'
import type { Random } from '../../../src/base/random.ts'
import { userHandle } from '../../../src/factors/ceremony.ts'
import type { Ceremony } from '../../../src/factors/ceremony.ts'
import { createPasskeys } from '../../../src/factors/passkeys.ts'
import type { Passkey } from '../../../src/model/users/passkey.ts'
import type { User } from '../../../src/model/users/user.ts'
import type { Store } from '../../../src/store/store.ts'
import { cbor, coseOf, signatureOf } from '../../support/authenticator.ts'
import type { Cbor } from '../../support/authenticator.ts'
import { changed, changedBytes } from '../changes.ts'
import { target } from '../target.ts'
import type { Verdict } from '../target.ts'
import { testKey } from './keys.ts'

const ORIGIN = 'https://id.example'
const AT: Ceremony = { zoneId: 'svc', baseUrl: `${ORIGIN}/auth`, browser: 'session one' }
const ANN = { id: 'ann', userName: 'ann' } as User // what is read
const own = testKey('passkey')
const other = testKey('another passkey')
const CREDENTIAL = Buffer.from(digest('credential'), 'base64url')
const ID = CREDENTIAL.toString('base64url')
const HANDLE = userHandle('svc', ANN.id)
const RP_ID_HASH = hash('sha256', 'id.example', 'buffer')
const COSE = cbor(coseOf(own.publicKey, 'EdDSA'))
const STORED: Passkey = {
  id: 'p1',
  userId: ANN.id,
  credentialId: ID,
  publicKey: COSE.toString('base64url'),
  counter: 0,
  transports: [],
  aaguid: '',
  isBackedUp: false,
  isAttested: false,
  hasVerifiedUser: true,
  name: 'Key',
  createdAt: new Date(0),
}
const factors = {
  passkeysOf: () => Promise.resolve([]),
  findPasskey: (_: string, id: string) => Promise.resolve(id === ID ? STORED : undefined),
  usePasskey: () => Promise.resolve(true),
}
const random = { bytes: (length: number) => Buffer.alloc(length, 7), urlSafe: (length: number) => 'r'.repeat(length) }
const passkeys = createPasskeys({
  store: { factors, assertions: { use: () => Promise.resolve(true) } } as unknown as Store, // what is called
  clock: { now: () => new Date(0) },
  random: random as unknown as Random, // the members that are used
  vault: createVault(Buffer.alloc(32, 7), random as unknown as Random),
})

const FLAGS = { present: 1, verified: 4, attested: 64 } as const
/** Flags that make a difference: none, present, verified, both, backed up, extensions. */
const flags = fc.constantFrom(0, 1, 4, 5, 13, 29, 133)
const authenticatorData = (flag: number, attested: readonly Uint8Array[] = []): Buffer =>
  Buffer.concat([RP_ID_HASH, Buffer.from([flag, 0, 0, 0, 1]), ...attested])
const attested = (id = CREDENTIAL, key: Uint8Array = COSE): readonly Uint8Array[] => [
  Buffer.alloc(16),
  Buffer.from([0, id.length]),
  id,
  key,
]
const attestation = (flag: number, format: string, statement: Cbor): Buffer =>
  cbor(
    new Map<string, Cbor>([
      ['fmt', format],
      ['attStmt', statement],
      ['authData', authenticatorData(flag | FLAGS.attested, attested())],
    ]),
  )

const clientData = (type: string): string =>
  JSON.stringify({ type, challenge: '$CHALLENGE', origin: ORIGIN, crossOrigin: false })
const ASSERTION = {
  id: ID,
  rawId: ID,
  type: 'public-key',
  response: { clientDataJSON: '$CLIENT', authenticatorData: '$BYTES', signature: '$SIGNATURE', userHandle: HANDLE },
  clientExtensionResults: {},
}
const CREATION = {
  id: ID,
  rawId: ID,
  type: 'public-key',
  response: { clientDataJSON: '$CLIENT', attestationObject: '$BYTES', transports: ['internal'] },
}
const PIECES = [
  '"crossOrigin":true,',
  '"crossOrigin":null,',
  '"topOrigin":"https://evil.example",',
  '"type":"webauthn.create",',
  '"origin":"https://id.example.evil.example",',
  'https://evil.example',
  '$CHALLENGE',
  '"userHandle":null,',
  '"id":"x",',
  'webauthn.get',
  'webauthn.create',
  ':443',
  '\ufeff',
]
/** Half of the texts are valid, so that the bytes inside are reached. */
const mostly = (text: string): fc.Arbitrary<string> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(text) }, changed(fc.constant(text), PIECES))
const honest = (bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<string> =>
  fc.oneof(
    bytes.map(each => Buffer.from(each).toString('hex')),
    changedBytes(bytes),
  )

const KINDS = ['sign-in', 'second factor', 'registration'] as const
type Kind = (typeof KINDS)[number]

/** A browser's response and client data, with placeholders for parts of the request. */
interface Input {
  readonly kind: Kind
  readonly answer: string
  readonly clientData: string
  /** Authenticator data or attestation object, hexadecimal. */
  readonly bytes: string
  readonly signer: 'own' | 'other' | 'broken'
}

const signer = fc.oneof({ weight: 6, arbitrary: fc.constant('own' as const) }, fc.constantFrom('other', 'broken'))
const assertion = fc.record<Input>({
  kind: fc.constantFrom<Kind>('sign-in', 'second factor'),
  answer: mostly(JSON.stringify(ASSERTION)),
  clientData: mostly(clientData('webauthn.get')),
  bytes: honest(flags.map(flag => authenticatorData(flag))),
  signer,
})
const creation = fc.record<Input>({
  kind: fc.constant<Kind>('registration'),
  answer: mostly(JSON.stringify(CREATION)),
  clientData: mostly(clientData('webauthn.create')),
  bytes: honest(
    fc
      .tuple(flags, fc.constantFrom('none', 'none', 'packed', 'fido-u2f', 'tpm'), fc.boolean())
      .map(([flag, format, isEmpty]) =>
        attestation(flag, format, isEmpty ? new Map<string, Cbor>() : new Map<string, Cbor>([['alg', -8]])),
      ),
  ),
  signer,
})

const base64url = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64url')

/** Checks the client data of an accepted response (Web Authentication Level 3 §7.1, §7.2) independently of our reader. */
function checkClientData(text: string, type: string, challenge: string): void {
  const said = JSON.parse(text.replace(/^\ufeff/, '')) as Readonly<Record<string, unknown>> // checked below
  assert.equal(said['type'], type)
  assert.equal(said['challenge'], challenge)
  assert.equal(said['origin'], ORIGIN)
  assert.ok((said['crossOrigin'] ?? false) === false, 'a page in a frame')
}

function checkFlags(data: Buffer, mustVerify: boolean): void {
  assert.ok(data.subarray(0, 32).equals(RP_ID_HASH), 'another relying party')
  const flag = data[32] ?? 0
  assert.ok((flag & FLAGS.present) !== 0, 'no user was present')
  assert.ok(!mustVerify || (flag & FLAGS.verified) !== 0, 'no user was verified')
}

/** Browsers' passkey responses: accepted only if this authenticator signed them for this request. */
export const passkeyAnswer = target<Input>({
  name: 'passkey-answer',
  inputs: fc.oneof({ weight: 2, arbitrary: assertion }, creation),
  async check({ kind, answer, clientData: template, bytes: hex, signer: signedBy }): Promise<Verdict> {
    const user = kind === 'sign-in' ? undefined : ANN
    const options =
      kind === 'registration'
        ? await passkeys.registrationOptions(AT, { user: ANN, siteName: 'Example' })
        : await passkeys.authenticationOptions(AT, user)
    const challenge = String(options['challenge'])
    const client = template.replaceAll('$CHALLENGE', challenge)
    const bytes = Buffer.from(hex, 'hex')
    const signed = Buffer.concat([bytes, hash('sha256', client, 'buffer')])
    const signature = signatureOf(signed, signedBy === 'other' ? other.privateKey : own.privateKey, 'EdDSA')
    if (signedBy === 'broken') signature[hex.length % 64] = (signature[hex.length % 64] ?? 0) ^ 1
    const sent = answer
      .replaceAll('$CLIENT', base64url(client))
      .replaceAll('$BYTES', base64url(bytes))
      .replaceAll('$SIGNATURE', base64url(signature))
    if (kind === 'registration') {
      const read = await passkeys.readRegistration(AT, { user: ANN, answer: sent, name: 'Key' })
      assert.ok(!('polluted' in {}))
      if (read.outcome === 'refused') return 'refused'
      const { passkey } = read
      checkClientData(client, 'webauthn.create', challenge)
      const at = bytes.indexOf(RP_ID_HASH)
      assert.ok(at >= 0, 'another relying party')
      checkFlags(bytes.subarray(at), false)
      // Not the key: the library writes it again, in the shortest form of each value.
      assert.ok(bytes.includes(Buffer.from(passkey.credentialId, 'base64url')), 'a credential that was not sent')
      assert.deepEqual([passkey.userId, passkey.isAttested], [ANN.id, false])
      assert.ok(passkey.transports.every(each => /^[a-z-]{1,20}$/.test(each)))
      return 'read'
    }
    const read = await passkeys.authenticate(AT, { answer: sent, ...(user && { user }) })
    assert.ok(!('polluted' in {}))
    if (read.outcome === 'refused') return 'refused'
    assert.equal(read.userId, ANN.id)
    assert.equal(read.level, 'phr')
    const { id, response } = JSON.parse(sent) as {
      readonly id: string
      readonly response: { readonly userHandle?: string | null }
    }
    assert.equal(id, ID, 'another credential')
    assert.ok(response.userHandle === HANDLE || (user && (response.userHandle ?? null) === null), 'another user')
    checkClientData(client, 'webauthn.get', challenge)
    checkFlags(bytes, user === undefined)
    assert.ok(verify(null, signed, own.publicKey, signature), 'not signed')
    return 'read'
  },
})
