// Attestation certificates as vendors of authenticators issue them (Web Authentication Level 3 §8.2.1).
import { generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

const tagged = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const length = Buffer.from(body.length.toString(16).padStart(4, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x82]), length, body])
}
const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts)
const identifier = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, 'hex'))
const time = (moment: Date): Buffer =>
  tagged(0x18, Buffer.from(`${moment.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`))

const SHA256_WITH_EC = sequence(identifier('2a8648ce3d040302'))
const BASIC_CONSTRAINTS = identifier('551d13')
const AAGUID = identifier('2b0601040182e51c010104')
const NAME_PARTS = { C: '550406', O: '55040a', OU: '55040b', CN: '550403' }

const nameOf = (unit: string, commonName: string): Buffer =>
  sequence(
    ...Object.entries({ C: 'SE', O: 'Maker', OU: unit, CN: commonName }).map(([part, value]) =>
      tagged(
        0x31,
        sequence(identifier(NAME_PARTS[part as 'C']), tagged(part === 'C' ? 0x13 : 0x0c, Buffer.from(value))),
      ),
    ),
  )

/** An issuer of certificates. */
export interface Authority {
  readonly name: Buffer
  readonly privateKey: KeyObject
  readonly certificate: Buffer
}

/** The content of a certificate. */
interface Claims {
  readonly commonName: string
  readonly unit?: string
  readonly isAuthority?: boolean
  readonly aaguid?: Buffer
  readonly to?: Date
}

/** A certificate with its key, issued or self-signed. */
export function certify({ commonName, unit = 'Makers', ...claims }: Claims, issuer?: Authority): Authority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = nameOf(unit, commonName)
  const constraints = sequence(...(claims.isAuthority ? [Buffer.from('0101ff', 'hex')] : []))
  const extensions = [
    sequence(BASIC_CONSTRAINTS, Buffer.from('0101ff', 'hex'), tagged(0x04, constraints)),
    ...(claims.aaguid ? [sequence(AAGUID, tagged(0x04, tagged(0x04, claims.aaguid)))] : []),
  ]
  const content = sequence(
    tagged(0xa0, Buffer.from('020102', 'hex')), // version 3
    Buffer.from('020101', 'hex'),
    SHA256_WITH_EC,
    issuer?.name ?? name,
    sequence(time(new Date(0)), time(claims.to ?? new Date(Date.UTC(2090, 0)))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  )
  const signature = tagged(0x03, Buffer.from([0]), sign('sha256', content, issuer?.privateKey ?? privateKey))
  return { name, privateKey, certificate: sequence(content, SHA256_WITH_EC, signature) }
}

/** In PEM. */
export const pemOf = ({ certificate }: Authority): string =>
  `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`
