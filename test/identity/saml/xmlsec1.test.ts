import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { authnRequest, logoutRequest, logoutResponse, metadataOf } from '../../../src/identity/saml/messages.ts'
import type { SpKey } from '../../../src/identity/saml/service-provider.ts'
import { signEnveloped } from '../../../src/identity/saml/signing.ts'
import { certificateOf } from '../../support/certificate.ts'
import { temporaryFolder } from '../../support/config.ts'
import { KEYS, textOf } from '../../support/keys.ts'

const folder = temporaryFolder()
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** The verdict of xmlsec1, an independent implementation based on libxml2, about the signature of the root. */
function verdictOf(xml: string, certificate: string): string {
  const [, prefix = '', name = ''] = /<(\w+):(\w+) /.exec(xml) ?? []
  const [, namespace = ''] = new RegExp(`xmlns:${prefix}="([^"]*)"`).exec(xml) ?? []
  const files = ['--pubkey-cert-pem', write('signer.crt', certificate), write('message.xml', xml)]
  const { stdout, stderr } = spawnSync('xmlsec1', ['--verify', '--id-attr:ID', `${namespace}:${name}`, ...files], {
    encoding: 'utf8',
  })
  return /^(?:OK|FAIL|ERROR)$/m.exec(stdout + stderr)?.[0] ?? `no verdict: ${stdout}${stderr}`
}

const WHITE_SPACE = 'é "<&>" \r\n\t x'
const message = { id: '_1', issuedAt: new Date(0), destination: 'https://idp.example/?a&b', issuer: WHITE_SPACE }

describe('xmlsec1', () => {
  for (const algorithm of ['RS256', 'ES256', 'ES384'] as const) {
    const pem = textOf(KEYS[algorithm])
    const certificate = certificateOf(pem)
    const key: SpKey = {
      id: 'key',
      privateKey: createPrivateKey(pem),
      certificates: [certificate.replace(/-----[^-]+-----|\s/g, '')],
    }
    const provider = { entityId: WHITE_SPACE, base: 'https://sp.example', alias: 'x', active: key, others: [] }
    const documents = [
      authnRequest({ ...message, assertionConsumer: 'https://sp.example', authnContext: [WHITE_SPACE] }),
      logoutRequest({ ...message, name: { value: WHITE_SPACE, format: WHITE_SPACE }, notOnOrAfter: new Date(1) }),
      logoutResponse({ ...message, inResponseTo: '_2', status: 'Success' }),
      metadataOf({ ...provider, signsRequests: true, wantsAssertionsSigned: true }),
    ]
    for (const document of documents) {
      const [, name = ''] = /:(\w+) /.exec(document) ?? []
      it(`verifies the signature of ${name} with ${algorithm}, and refuses changed content`, () => {
        const signed = signEnveloped(document, key)
        assert.equal(verdictOf(signed, certificate), 'OK')
        assert.equal(verdictOf(signed.replace(/ ID="\w+"/, '$& Consent="x"'), certificate), 'FAIL')
      })
    }
  }
})
