import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { describe, it } from 'node:test'
import { isSameCertificate, readCertifiedKey } from '../../../src/base/certificates/certified-key.ts'
import { keyWithRounds } from '../../support/encrypted-key.ts'
import { certificateOf } from '../../support/certificate.ts'
import { privatePem } from '../../support/config.ts'
import { cpuStopwatch } from '../../support/cpu-time.ts'

const rsa = privatePem('rsa', 2048)
const ec = privatePem('ec', 'P-256')
const certificate = certificateOf(rsa)

describe('a private key with its certificate', () => {
  it('is opened, encrypted or not, in every form of PEM', async () => {
    const key = createPrivateKey(rsa)
    const passphrase = 'x'
    const forms = [
      rsa,
      key.export({ type: 'pkcs1', format: 'pem' }).toString(),
      key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }).toString(),
      key.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase }).toString(),
    ]
    for (const form of forms) assert.equal(await readCertifiedKey({ key: form, passphrase, certificate }), rsa)
    assert.equal(await readCertifiedKey({ key: ec, certificate: certificateOf(ec) }), ec)
  })

  const small = privatePem('rsa', 512)
  const large = privatePem('rsa', 4104)
  const refusals = [
    { name: 'of another key', key: rsa, certificate: certificateOf(ec) },
    { name: 'that is none', key: rsa, certificate: 'x' },
    { name: 'that is missing', key: rsa, certificate: '' },
    { name: 'of a key that is none', key: '', certificate },
    { name: 'of a tiny key', key: small, certificate: certificateOf(small) },
    { name: 'of a key that takes long to sign', key: large, certificate: certificateOf(large) },
    { name: 'of a public key', key: certificate, certificate },
  ]
  for (const { name, ...given } of refusals) {
    it(`is refused with a certificate ${name}`, async () => assert.equal(await readCertifiedKey(given), undefined))
  }

  it('costs nothing when opening it would block the server', async () => {
    const elapsed = cpuStopwatch()
    for (const rounds of [100_001, 2 ** 31 - 1]) {
      assert.equal(await readCertifiedKey({ key: keyWithRounds(rounds), passphrase: 'x', certificate }), undefined)
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
