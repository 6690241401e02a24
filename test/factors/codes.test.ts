// One-time passwords and recovery codes: test vectors, storage, and normalization of typed codes.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { createOneTimePasswords, enteredOneTimePassword } from '../../src/factors/one-time-passwords.ts'
import type { Enrolment, OneTimePasswords } from '../../src/factors/one-time-passwords.ts'
import { createRecoveryCodes, enteredRecoveryCode } from '../../src/factors/recovery-codes.ts'
import { userNamed } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const random = createRandom()
const vault = createVault(Buffer.alloc(32, 7), random)

describe('Typed code', () => {
  const passwords = [
    ['123456', '123456'],
    [' 123 456\t', '123456'],
    ['123-456', '123456'],
    ['１２３　４５６', '123456'],
    ['12345', undefined],
    ['1234567', undefined],
    ['12345a', undefined],
    ['٠١٢٣٤٥', undefined],
    ['', undefined],
    [`${' '.repeat(40)}123456`, undefined],
    ['\u{fdfa}'.repeat(40), undefined],
  ] as const
  for (const [typed, want] of passwords) {
    it(`is ${want === undefined ? 'refused' : 'accepted'} as a one-time password: ${JSON.stringify(typed.slice(0, 20))}`, () => {
      assert.equal(enteredOneTimePassword(typed), want)
    })
  }

  const codes = [
    ['ABCD-EFGH-JK01', 'ABCDEFGHJK01'],
    ['abcd efgh jkol', 'ABCDEFGHJK01'],
    ['ABCD–EFGH—JK0I', 'ABCDEFGHJK01'],
    ['ＡＢＣＤーＥＦＧＨーＪＫ０１', 'ABCDEFGHJK01'],
    ['ABCD-EFGH-JK0', undefined],
    ['ABCD-EFGH-JK012', undefined],
    ['ABCD-EFGH-JKU1', undefined], // no such letter
    ['ABCD_EFGH_JK01', undefined],
    ["' or 1=1 --", undefined],
    ['', undefined],
  ] as const
  for (const [typed, want] of codes) {
    it(`is ${want === undefined ? 'refused' : 'accepted'} as a recovery code: ${JSON.stringify(typed)}`, () => {
      assert.equal(enteredRecoveryCode(typed), want)
    })
  }
})

describe('Codes of an account', () => {
  let server: TestServer
  let passwords: OneTimePasswords
  let of: Enrolment
  before(async () => {
    server = await startServer()
    const { store, clock } = server
    passwords = createOneTimePasswords({ store, clock, random, vault })
    const { id } = await userNamed(server, 'marissa')
    of = { zoneId: 'svc', userId: id, session: 's1', issuer: 'Ex: ample', userName: 'a+b@example.org' }
  })
  after(() => server.stop())

  it('match RFC 6238, appendix B', async () => {
    const clock = { now: () => new Date(59_000) }
    const secret = new Secret({ buffer: new TextEncoder().encode('12345678901234567890').buffer }).base32
    const until = 600_000
    const sealed = vault.seal(
      JSON.stringify({ secret, until }),
      JSON.stringify(['new one-time passwords', of.zoneId, of.userId, of.session]),
    )
    const then = createOneTimePasswords({ store: server.store, clock, random, vault })
    const result = await then.confirm(sealed, '287082', of)
    assert.equal(result.outcome, 'confirmed')
    assert.equal(result.totp.lastStep, 1)
  })

  it('have an otpauth URI without a colon in the issuer', async () => {
    const { uri, text, sealed } = await passwords.begin(of)
    const address = new URL(uri)
    assert.equal(`${address.protocol}//${address.host}`, 'otpauth://totp')
    assert.equal(decodeURIComponent(address.pathname), '/Ex  ample:a+b@example.org')
    assert.equal(address.searchParams.get('issuer'), 'Ex  ample')
    const secret = address.searchParams.get('secret') ?? ''
    assert.equal(secret, text.replaceAll(' ', ''))
    assert.equal(Secret.fromBase32(secret).bytes.length, 20)
    assert.ok(!sealed.includes(secret))
  })

  it('confirm a secret only for its user, session and zone, for ten minutes', async () => {
    const { text, sealed } = await passwords.begin(of)
    const app = new TOTP({ secret: Secret.fromBase32(text.replaceAll(' ', '')) })
    const code = () => app.generate({ timestamp: server.clock.now().getTime() })
    for (const other of [{ userId: 'u2' }, { session: 's2' }, { zoneId: 'z1' }]) {
      assert.equal((await passwords.confirm(sealed, code(), { ...of, ...other })).outcome, 'expired')
      assert.equal(await passwords.again(sealed, { ...of, ...other }), undefined)
    }
    assert.equal((await passwords.confirm(sealed, '000000', of)).outcome, 'wrong')
    assert.equal((await passwords.again(sealed, of))?.text, text)
    server.clock.advance(599)
    const confirmed = await passwords.confirm(sealed, code(), of)
    assert.equal(confirmed.outcome, 'confirmed')
    assert.doesNotMatch(confirmed.totp.sealedSecret, new RegExp(text.replaceAll(' ', '')))
    server.clock.advance(1)
    assert.equal((await passwords.confirm(sealed, code(), of)).outcome, 'expired')
  })

  it('are refused while the clock is behind the last code', async () => {
    const { text, sealed } = await passwords.begin(of)
    const app = new TOTP({ secret: Secret.fromBase32(text.replaceAll(' ', '')) })
    const code = () => app.generate({ timestamp: server.clock.now().getTime() })
    const confirmed = await passwords.confirm(sealed, code(), of)
    assert.equal(confirmed.outcome, 'confirmed')
    await server.store.factors.setTotp('svc', of.userId, confirmed.totp)
    server.clock.advance(-90)
    assert.equal(await passwords.verify('svc', of.userId, code()), false)
    server.clock.advance(120)
    assert.equal(await passwords.verify('svc', of.userId, code()), true)
    assert.equal(await passwords.verify('svc', of.userId, code()), false)
    assert.equal(await passwords.verify('svc', 'nobody', code()), false)
  })

  it('for recovery are ten of sixty bits, stored as keyed digests', async () => {
    const recovery = createRecoveryCodes({ ...server, random, vault })
    const codes = (await recovery.renew('svc', of.userId)) ?? []
    assert.equal(new Set(codes).size, 10)
    for (const code of codes) assert.match(code, /^(?:[0-9A-HJKMNP-TV-Z]{4}-){2}[0-9A-HJKMNP-TV-Z]{4}$/)
    const [first = '', second = ''] = codes
    const otherVault = createVault(Buffer.alloc(32, 8), random)
    const stranger = createRecoveryCodes({ ...server, random, vault: otherVault })
    assert.equal(await stranger.use('svc', of.userId, first), undefined, 'a digest requires the key')
    assert.equal(await recovery.use('z1', of.userId, first), undefined)
    assert.equal(await recovery.use('svc', 'nobody', first), undefined)
    assert.equal((await recovery.use('svc', of.userId, first))?.kind, 'recovery')
    assert.equal(await recovery.use('svc', of.userId, first), undefined)
    await recovery.renew('svc', of.userId)
    assert.equal(await recovery.use('svc', of.userId, second), undefined)
    assert.equal(await recovery.renew('svc', 'nobody'), undefined)
  })

  it('of an administrator work once, expire, and replace earlier ones', async () => {
    const recovery = createRecoveryCodes({ ...server, random, vault })
    const give = async () => (await recovery.bypass('svc', of.userId, 60))?.code ?? ''
    const [before, given] = [await give(), await give()]
    assert.equal(await recovery.use('svc', of.userId, before), undefined)
    assert.equal((await recovery.use('svc', of.userId, given))?.kind, 'bypass')
    assert.equal(await recovery.use('svc', of.userId, given), undefined)
    const late = await give()
    server.clock.advance(60)
    assert.equal(await recovery.use('svc', of.userId, late), undefined)
    assert.equal(await recovery.bypass('svc', 'nobody', 60), undefined)
  })
})
