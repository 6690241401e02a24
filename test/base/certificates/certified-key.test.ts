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

describe('readCertifiedKey', () => {
  it('reads encrypted and unencrypted keys in every PEM form', async () => {
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
    { name: 'that is invalid', key: rsa, certificate: 'x' },
    { name: 'that is missing', key: rsa, certificate: '' },
    { name: 'of an invalid key', key: '', certificate },
    { name: 'of a short key', key: small, certificate: certificateOf(small) },
    { name: 'of a key too large to sign quickly', key: large, certificate: certificateOf(large) },
    { name: 'of a public key', key: certificate, certificate },
  ]
  for (const { name, ...given } of refusals) {
    it(`rejects a certificate ${name}`, async () => assert.equal(await readCertifiedKey(given), undefined))
  }

  it('rejects costly key derivation without running it', async () => {
    const elapsed = cpuStopwatch()
    for (const rounds of [100_001, 2 ** 31 - 1]) {
      assert.equal(await readCertifiedKey({ key: keyWithRounds(rounds), passphrase: 'x', certificate }), undefined)
    }
    assert.ok(elapsed() < 2000, 'two thousand million rounds take minutes')
  })
})

describe('isSameCertificate', () => {
  it('ignores line ends, and is false for invalid certificates', () => {
    assert.equal(isSameCertificate(certificate, certificate.replaceAll('\n', '\r\n')), true)
    assert.equal(isSameCertificate(certificate, certificateOf(ec)), false)
    assert.equal(isSameCertificate('x', 'x'), false)
    assert.equal(isSameCertificate('', ''), false)
  })
})
