import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate, createPrivateKey, createPublicKey } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readCertificates } from '../../../src/base/certificates/certificate.ts'
import { selfSignedCertificate } from '../../../src/base/certificates/self-signed-certificate.ts'
import { KEYS, textOf } from '../../support/keys.ts'

const privateKey = createPrivateKey(textOf(KEYS.RS256))
const plain = {
  privateKey,
  commonName: 'latchkey',
  from: new Date('2026-11-23T03:40:05Z'),
  to: new Date('2036-11-20T03:40:05Z'),
  serial: Buffer.from('00ff10', 'hex'),
}
const opensslText = (pem: string): string =>
  execFileSync('openssl', ['x509', '-noout', '-text', '-nameopt', 'utf8'], { input: pem, encoding: 'utf8' })

describe('selfSignedCertificate', () => {
  it('has the given properties when read by Node', () => {
    const pem = selfSignedCertificate(plain)
    const read = new X509Certificate(pem)
    assert.equal(read.subject, 'CN=latchkey')
    assert.equal(read.issuer, 'CN=latchkey')
    assert.equal(read.serialNumber, '4000FF10')
    assert.deepEqual([read.validFromDate, read.validToDate], [plain.from, plain.to])
    assert.equal(read.ca, false)
    assert.ok(read.checkPrivateKey(privateKey))
    assert.ok(read.verify(createPublicKey(privateKey)), 'signed by itself')
    assert.equal(readCertificates(pem)?.length, 1)
  })

  it('is a version 3 certificate for signatures and encryption', () => {
    const text = opensslText(selfSignedCertificate(plain))
    assert.match(text, /Version: 3 /)
    assert.match(text, /Signature Algorithm: sha256WithRSAEncryption/)
    assert.match(text, /Not After : Nov 20 03:40:05 2036 GMT/)
    assert.match(text, /Basic Constraints: critical\s+CA:FALSE/)
    assert.match(text, /Key Usage: critical\s+Digital Signature, Key Encipherment/)
  })

  it('is verified by OpenSSL', async t => {
    const folder = await mkdtemp(join(tmpdir(), 'certificate-'))
    t.after(() => rm(folder, { recursive: true }))
    const file = join(folder, 'certificate.pem')
    await writeFile(file, selfSignedCertificate({ ...plain, from: new Date(0) }))
    const arguments_ = ['verify', '-check_ss_sig', '-x509_strict', '-partial_chain', '-CAfile', file, file]
    assert.equal(execFileSync('openssl', arguments_, { encoding: 'utf8' }), `${file}: OK\n`)
  })

  it('supports dates after 2049', () => {
    const { validToDate } = new X509Certificate(
      selfSignedCertificate({ ...plain, to: new Date('2050-01-01T00:00:00Z') }),
    )
    assert.deepEqual(validToDate, new Date('2050-01-01T00:00:00Z'))
  })

  const names = [
    { name: 'https://login.example/saml?a=1&b="2"', written: 'https://login.example/saml?a=1&b="2"' },
    { name: 'schlüssel', written: 'schlüssel' },
    { name: '🔑'.repeat(70), written: '🔑'.repeat(64) },
  ]
  for (const { name, written } of names) {
    it(`has the name ${name.slice(0, 40)}`, () => {
      const { publicKey, raw } = new X509Certificate(selfSignedCertificate({ ...plain, commonName: name }))
      assert.ok(raw.includes(Buffer.from(written)), 'the name in UTF-8')
      assert.equal(publicKey.asymmetricKeyType, 'rsa')
      assert.ok(!raw.includes(Buffer.from(`${written}🔑`)))
    })
  }
})
