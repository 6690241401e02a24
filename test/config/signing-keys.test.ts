import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import type { Config } from '../../src/config.ts'
import { loadText, privatePem, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (text: string): Promise<Config> => loadText(folder, text)

describe('signing keys', () => {
  let keys: Readonly<Record<string, string>> = {}
  before(() => {
    keys = {
      rsa2048: privatePem('rsa', 2048),
      rsa1024: privatePem('rsa', 1024),
      p256: privatePem('ec', 'P-256'),
      p384: privatePem('ec', 'P-384'),
      ed: privatePem('ed25519'),
    }
    for (const [name, text] of Object.entries(keys)) writeFileSync(join(folder, `${name}.pem`), text)
    writeFileSync(join(folder, 'broken.pem'), 'not a key')
  })

  const signing = (alg: string, file: string, active = 'k'): string =>
    `signing_keys: { active: ${active}, keys: { k: { alg: ${alg}, pem_file: ${file}.pem } } }`
  const accepted = [
    ['RS256', 'rsa2048'],
    ['PS512', 'rsa2048'],
    ['ES256', 'p256'],
    ['ES384', 'p384'],
    ['EdDSA', 'ed'],
  ] as const
  for (const [alg, file] of accepted) {
    it(`takes ${alg} with ${file}`, async () => {
      const { signingKeys } = await load(signing(alg, file))
      assert.equal(signingKeys?.active, 'k')
      assert.equal(signingKeys.keys['k']?.alg, alg)
      assert.match(signingKeys.keys['k'].pem, /^-----BEGIN PRIVATE KEY-----/)
    })
  }

  const refused = [
    {
      name: 'an RSA key that is too short',
      text: signing('RS256', 'rsa1024'),
      want: /^signing_keys\.keys\.k\.pem: an RSA key needs at least 2048 bits, this one has 1024$/,
    },
    {
      name: 'another curve',
      text: signing('ES256', 'p384'),
      want: /^signing_keys\.keys\.k\.pem: ES256 needs an EC key on P-256, this is secp384r1$/,
    },
    {
      name: 'another kind of key',
      text: signing('EdDSA', 'rsa2048'),
      want: /EdDSA needs an Ed25519 key, this is rsa$/,
    },
    {
      name: 'a file that holds no key',
      text: signing('RS256', 'broken'),
      want: /^signing_keys\.keys\.k\.pem: is not an unencrypted private key/,
    },
    {
      name: 'an algorithm that is none',
      text: signing('HS256', 'rsa2048'),
      want: /^signing_keys\.keys\.k\.alg: must be one of RS256/,
    },
    {
      name: 'an active key that is not there',
      text: signing('RS256', 'rsa2048', 'j'),
      want: /^signing_keys\.active: j is not among the keys$/,
    },
    {
      name: 'a key without PEM',
      text: 'signing_keys: { active: k, keys: { k: { alg: RS256 } } }',
      want: /^signing_keys\.keys\.k: needs pem or pem_file$/,
    },
    {
      name: 'an active key id without keys',
      text: 'zone_config: { tokenPolicy: { activeKeyId: k } }',
      want: /^zone_config\.tokenPolicy\.activeKeyId: /,
    },
  ]
  for (const { name, text, want } of refused) {
    it(`refuses ${name}`, async () => {
      const got = await problemsOf(load(text))
      assert.equal(got.length, 1, got.join('\n'))
      assert.match(got[0] ?? '', want)
    })
  }

  it('takes the keys of the zone API out of the settings, so that they are never stored with them', async () => {
    const policy = { accessTokenValidity: 60, keys: { z: { signingKey: keys['p256'] } } }
    const { signingKeys, zoneConfig } = await load(JSON.stringify({ zone_config: { tokenPolicy: policy } }))
    assert.equal(signingKeys?.active, 'z')
    assert.equal(signingKeys.keys['z']?.alg, 'ES256')
    assert.deepEqual(zoneConfig, { tokenPolicy: { accessTokenValidity: 60 } })
  })

  it('refuses keys in two places', async () => {
    const zone_config = { tokenPolicy: { keys: { z: { signingKey: keys['p256'] } } } }
    const signing_keys = { active: 'k', keys: { k: { alg: 'EdDSA', pem: keys['ed'] } } }
    const got = await problemsOf(load(JSON.stringify({ zone_config, signing_keys })))
    assert.deepEqual(got, ['zone_config.tokenPolicy.keys: cannot be given together with signing_keys'])
  })
})
