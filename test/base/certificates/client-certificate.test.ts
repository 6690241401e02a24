import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namesIn, readForwardedCertificate } from '../../../src/base/certificates/client-certificate.ts'
import { nameFromString } from '../../../src/base/certificates/distinguished-name.ts'
import { FORWARDED, issue, nameOf } from '../../support/client-certificates.ts'

describe('Forwarded client certificates', () => {
  const certificate = issue()
  for (const [proxy, write] of Object.entries(FORWARDED)) {
    it(`are read in the format of ${proxy}`, () => {
      const read = readForwardedCertificate(write(certificate))
      assert.equal(read?.thumbprint, certificate.thumbprint)
      assert.ok(read.raw.equals(certificate.raw))
    })
  }

  const base64 = certificate.raw.toString('base64')
  const other = issue().raw.toString('base64')
  const refused: Readonly<Record<string, string>> = {
    nothing: '',
    'a word': 'certificate',
    'two, as two headers are joined': `:${base64}:, :${other}:`,
    'two in PEM': encodeURIComponent(certificate.pem + certificate.pem),
    'PEM of something else': encodeURIComponent(certificate.pem.replaceAll('CERTIFICATE', 'PRIVATE KEY')),
    'text before PEM': encodeURIComponent(`x${certificate.pem}`),
    'a broken percent sign': `${encodeURIComponent(certificate.pem)}%`,
    'an alphabet of URLs': `:${certificate.raw.toString('base64url')}-_:`,
    'something after it': Buffer.concat([certificate.raw, Buffer.from([0])]).toString('base64'),
    'half of it': certificate.raw.subarray(0, 100).toString('base64'),
    'a key': certificate.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    'far too much': 'A'.repeat(20_000),
    'parameters after it': `:${base64}:;a=1`,
  }
  for (const [what, value] of Object.entries(refused)) {
    it(`reject ${what}`, () => assert.equal(readForwardedCertificate(value), undefined))
  }

  it('are for clients unless their extended key usage excludes it', () => {
    const isForClients = (usages?: readonly ('client' | 'server' | 'any')[]) =>
      readForwardedCertificate(FORWARDED['RFC 9440'](issue(usages ? { usages } : {})))?.isForClients
    assert.equal(isForClients(), true)
    assert.equal(isForClients(['server', 'client']), true)
    assert.equal(isForClients(['any']), true)
    assert.equal(isForClients(['server']), false)
  })

  it('provide subject and alternative names by type', () => {
    const { raw } = issue({
      name: nameOf([['O', 'Bank']], [['CN', 'client']]),
      dns: ['client.example', 'other.example'],
      uri: ['spiffe://bank/client'],
      email: ['client@bank.example'],
      ip: [
        [10, 0, 0, 1],
        [0x20, 1, 0xd, 0xb8, ...Array.from({ length: 11 }, () => 0), 1],
        [1, 2, 3],
      ],
    })
    assert.deepEqual(namesIn(raw), {
      subject: nameFromString('CN=client,O=Bank'),
      dns: ['client.example', 'other.example'],
      uri: ['spiffe://bank/client'],
      email: ['client@bank.example'],
      ip: ['10.0.0.1', '2001:db8::1'],
    })
    const nothing = { dns: [], uri: [], email: [], ip: [] }
    assert.deepEqual(namesIn(issue({ name: nameOf() }).raw), { subject: undefined, ...nothing })
    assert.deepEqual(namesIn(Buffer.from('nonsense')), { subject: undefined, ...nothing })
  })
})
