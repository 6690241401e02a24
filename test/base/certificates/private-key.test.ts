import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { openingRounds, openPrivateKey, readPrivateKey } from '../../../src/base/certificates/private-key.ts'
import { privatePem } from '../../support/config.ts'
import { keyOfLongExponent } from '../../support/long-exponent.ts'
import { cpuStopwatch } from '../../support/cpu-time.ts'
import { rsaKeys } from '../../support/rsa-keys.ts'

const tlv = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  const size = body.length
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const sequence = (...parts: readonly Buffer[]): Buffer => tlv(0x30, ...parts)
const integer = (number: number | Buffer): Buffer =>
  tlv(0x02, typeof number === 'number' ? Buffer.from(number.toString(16).padStart(8, '0'), 'hex') : number)
const oid = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'))
const pem = (label: string, der: Buffer, headers = ''): string =>
  `-----BEGIN ${label}-----\n${headers}${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`

/** A random positive odd number of this many bytes. */
const odd = (bytes: number): Buffer => {
  const number = randomBytes(bytes)
  number[0] = 0x7f
  number[bytes - 1] = 0x01
  return number
}
const pkcs8 = (kind: Buffer, key: Buffer): Buffer => sequence(tlv(0x02, Buffer.from([0])), kind, tlv(0x04, key))

/** PBES2 with the given key derivation; its content need not be valid. */
const encrypted = (derivation: Buffer): Buffer => {
  const cipher = sequence(oid('60864801650304012a'), tlv(0x04, Buffer.alloc(16)))
  return sequence(sequence(oid('2a864886f70d01050d'), sequence(derivation, cipher)), tlv(0x04, randomBytes(96)))
}
const salt = tlv(0x04, Buffer.alloc(8))
const pbkdf2 = (rounds: number): Buffer =>
  encrypted(sequence(oid('2a864886f70d01050c'), sequence(salt, integer(rounds))))
const HEAVY = 2 ** 31 - 1

describe('Private keys in PEM', () => {
  const { privateKey: rsa } = rsaKeys()
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const passphrase = 'open sesame'
  const plain = (key: typeof rsa): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

  const ciphers = ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc', 'des-ede3-cbc']
  const forms = [
    ['pkcs8', rsa],
    ['pkcs8', ec],
    ['pkcs1', rsa],
    ['sec1', ec],
  ] as const
  for (const [type, key] of forms) {
    it(`are read as ${type} of ${key.asymmetricKeyType}, unencrypted and with every common cipher`, async () => {
      const text = key.export({ type: type, format: 'pem' }).toString()
      assert.equal(readPrivateKey(text)?.privatePem, plain(key))
      assert.equal(readPrivateKey(text.replaceAll('\n', '\r\n'))?.privatePem, plain(key))
      for (const cipher of ciphers) {
        const closed = key.export({ type: type, format: 'pem', cipher, passphrase }).toString()
        assert.equal((await openPrivateKey(closed, passphrase))?.privatePem, plain(key), cipher)
        assert.equal(readPrivateKey(closed), undefined, cipher)
        assert.equal(openingRounds(closed), type === 'pkcs8' ? 2048 : 0)
        for (const wrong of ['', 'x']) assert.equal(await openPrivateKey(closed, wrong), undefined, cipher)
      }
    })
  }

  it('are found after other PEM blocks and text', () => {
    const parameters = pem('EC PARAMETERS', oid('2a8648ce3d030107'))
    const text = `subject: somebody\n${parameters}${ec.export({ type: 'sec1', format: 'pem' }).toString()}`
    assert.equal(readPrivateKey(text)?.curve, 'prime256v1')
    for (const type of ['ed25519', 'ed448', 'x25519'] as const) {
      const { privateKey } = generateKeyPairSync(type as 'ed25519')
      assert.equal(readPrivateKey(plain(privateKey))?.type, type)
    }
  })

  const refusals: readonly [name: string, text: string][] = [
    ['nothing', ''],
    ['a truncated block', plain(rsa).slice(0, 200)],
    ['unterminated labels', '-----BEGIN PRIVATE KEY-----\n'.repeat(2000)],
    ['a label of another key type', plain(rsa).replaceAll('PRIVATE KEY', 'EC PRIVATE KEY')],
    ['a label of another key format', plain(rsa).replaceAll('PRIVATE KEY', 'RSA PRIVATE KEY')],
    [
      'trailing bytes',
      pem(
        'PRIVATE KEY',
        Buffer.concat([Buffer.from(plain(ec).split('\n').slice(1, -2).join(''), 'base64'), Buffer.from([0])]),
      ),
    ],
    ['a key with a large public exponent', plain(keyOfLongExponent())],
    ['a DSA key', plain(generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }).privateKey)],
    [
      'a Diffie-Hellman key',
      pem(
        'PRIVATE KEY',
        pkcs8(sequence(oid('2a864886f70d010301'), sequence(integer(odd(128)), integer(2))), integer(odd(128))),
      ),
    ],
    [
      'explicit curve parameters',
      plain(generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' }).privateKey),
    ],
  ]
  for (const [name, text] of refusals) {
    it(`reject ${name}`, async () => {
      assert.equal(readPrivateKey(text), undefined)
      assert.equal(await openPrivateKey(text, passphrase), undefined)
    })
  }

  it('reject costly key derivation and parameters in any encoding, without processing them', async () => {
    const dsa = sequence(oid('2a8648ce380401'), sequence(integer(odd(2000)), integer(odd(20)), integer(2)))
    const heavyDsa = pkcs8(dsa, integer(odd(2000)))
    const scrypt = encrypted(
      sequence(oid('2b06010401da47040b'), sequence(salt, integer(16_384), integer(8), integer(60))),
    )
    const rounds = pbkdf2(HEAVY)
    const withoutLength = Buffer.concat([Buffer.from([0x30, 0x80]), rounds.subarray(3), Buffer.from([0, 0])])
    const texts = [
      pem('PRIVATE KEY', heavyDsa),
      pem('ENCRYPTED PRIVATE KEY', scrypt),
      pem('ENCRYPTED PRIVATE KEY', rounds),
      pem('ENCRYPTED PRIVATE KEY', pbkdf2(100_001)),
      pem('ENCRYPTED PRIVATE KEY', rounds, 'a:b\n\n'),
      pem('ENCRYPTED PRIVATE KEY', Buffer.from('3000', 'hex')) + pem('ENCRYPTED PRIVATE KEY', rounds),
      `-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END\n${pem('ENCRYPTED PRIVATE KEY', rounds)}`,
      pem('ENCRYPTED PRIVATE KEY', withoutLength),
      pem('PRIVATE KEY', rounds),
      pem('RSA PRIVATE KEY', rounds),
      pem('CERTIFICATE', rounds) + pem('PRIVATE KEY', rounds),
    ]
    const elapsed = cpuStopwatch()
    for (const text of texts) {
      assert.equal(await openPrivateKey(text, passphrase), undefined)
      assert.equal(openingRounds(text), 0)
    }
    assert.ok(elapsed() < 1000, `${elapsed()} ms for what takes OpenSSL minutes`)
  })

  it('reject an encrypted DSA key', async () => {
    const closed = privatePem('rsa', 2048)
    const opened = createPrivateKey(closed)
    const good = opened.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }).toString()
    assert.equal((await openPrivateKey(good, passphrase))?.privatePem, closed)
    const { privateKey: dsa } = generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 })
    const hidden = dsa.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }).toString()
    assert.equal(await openPrivateKey(hidden, passphrase), undefined)
  })
})
