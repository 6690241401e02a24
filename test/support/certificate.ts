// Certificates for tests: just enough DER (X.690) for a self-signed X.509 certificate, because Node cannot create one.
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const length = Buffer.from(body.length.toString(16).padStart(4, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x82]), length, body])
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts)
const time = (moment: Date): Buffer =>
  tagged(0x18, Buffer.from(`${moment.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`))

const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SHA256_WITH = {
  rsa: sequence(Buffer.from('06092a864886f70d01010b', 'hex'), Buffer.from('0500', 'hex')),
  ec: sequence(Buffer.from('06082a8648ce3d040302', 'hex')),
}

/** The extension with the IPv4 address of the subject (RFC 5280 §4.2.1.6). */
const addressOf = (address: string): Buffer =>
  tagged(
    0xa3,
    sequence(
      sequence(
        Buffer.from('0603551d11', 'hex'),
        tagged(0x04, sequence(tagged(0x87, Buffer.from(address.split('.').map(Number))))),
      ),
    ),
  )

/** A self-signed certificate of the RSA or EC key, in PEM; of a server at the IPv4 address, if there is one. */
export function certificateOf(
  pem: string,
  { name = 'a test', from = new Date(0), to = new Date(Date.UTC(2049, 0)), address = '' } = {},
): string {
  const key = createPrivateKey(pem)
  const algorithm = SHA256_WITH[key.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec']
  const title = sequence(tagged(0x31, sequence(COMMON_NAME, tagged(0x0c, Buffer.from(name)))))
  const content = sequence(
    tagged(0xa0, Buffer.from('020102', 'hex')), // version 3
    Buffer.from('020101', 'hex'),
    algorithm,
    title,
    sequence(time(from), time(to)),
    title,
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    ...(address === '' ? [] : [addressOf(address)]),
  )
  const signature = tagged(0x03, Buffer.from([0]), sign('sha256', content, key))
  const lines =
    sequence(content, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
