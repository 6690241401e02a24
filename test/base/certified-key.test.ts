import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { describe, it } from 'node:test'
import { stopwatch } from '../../src/base/clock.ts'
import { isSameCertificate, readCertifiedKey } from '../../src/base/certified-key.ts'
import { certificateOf } from '../support/certificate.ts'
import { privatePem } from '../support/config.ts'

const rsa = privatePem('rsa', 2048)
const ec = privatePem('ec', 'P-256')
const certificate = certificateOf(rsa)

/** An encrypted PKCS#8 key whose parameters ask for so many rounds; the rest of it need not be good. */
function keyWithRounds(rounds: number): string {
  const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
    const body = Buffer.concat(parts)
    return Buffer.concat([Buffer.from([tag, body.length]), body])
  }
  const number = Buffer.from(rounds.toString(16).padStart(8, '0'), 'hex')
  const pbkdf2 = der(
    0x30,
    Buffer.from('06092a864886f70d01050c', 'hex'),
    der(0x30, der(0x04, Buffer.alloc(8)), der(0x02, number)),
  )
  const aes = der(0x30, Buffer.from('060960864801650304012a', 'hex'), der(0x04, Buffer.alloc(16)))
  const algorithm = der(0x30, Buffer.from('06092a864886f70d01050d', 'hex'), der(0x30, pbkdf2, aes))
  const whole = der(0x30, algorithm, der(0x04, Buffer.alloc(16)))
  return `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${whole.toString('base64')}\n-----END ENCRYPTED PRIVATE KEY-----\n`
}

describe('a private key with its certificate', () => {
  it('is opened, encrypted or not, in every form of PEM', () => {
    const key = createPrivateKey(rsa)
    const passphrase = 'x'
    const forms = [
      rsa,
      key.export({ type: 'pkcs1', format: 'pem' }).toString(),
      key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }).toString(),
      key.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase }).toString(),
    ]
    for (const form of forms) assert.equal(readCertifiedKey({ key: form, passphrase, certificate }), rsa)
    assert.equal(readCertifiedKey({ key: ec, certificate: certificateOf(ec) }), ec)
  })

  const small = privatePem('rsa', 512)
  const refusals = [
    { name: 'of another key', key: rsa, certificate: certificateOf(ec) },
    { name: 'that is none', key: rsa, certificate: 'x' },
    { name: 'that is missing', key: rsa, certificate: '' },
    { name: 'of a key that is none', key: '', certificate },
    { name: 'of a tiny key', key: small, certificate: certificateOf(small) },
    { name: 'of a public key', key: certificate, certificate },
  ]
  for (const { name, ...given } of refusals) {
    it(`is refused with a certificate ${name}`, () => assert.equal(readCertifiedKey(given), undefined))
  }

  it('costs nothing when opening it would block the server', () => {
    const elapsed = stopwatch()
    for (const rounds of [100_001, 2 ** 31 - 1]) {
      assert.equal(readCertifiedKey({ key: keyWithRounds(rounds), passphrase: 'x', certificate }), undefined)
    }
    assert.ok(elapsed() < 2000, 'two thousand million rounds take minutes')
  })
})

describe('two certificates', () => {
  it('are the same whatever their line ends, and none is the same as nothing', () => {
    assert.equal(isSameCertificate(certificate, certificate.replaceAll('\n', '\r\n')), true)
    assert.equal(isSameCertificate(certificate, certificateOf(ec)), false)
    assert.equal(isSameCertificate('x', 'x'), false)
    assert.equal(isSameCertificate('', ''), false)
  })
})
