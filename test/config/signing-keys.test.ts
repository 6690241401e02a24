import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import type { Config } from '../../src/config.ts'
import { certificateOf } from '../support/certificate.ts'
import { loadText, privatePem, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (text: string): Promise<Config> => loadText(folder, text)

describe('Signing keys', () => {
  let keys: Readonly<Record<string, string>> = {}
  before(() => {
    keys = {
      rsa2048: privatePem('rsa', 2048),
      rsa1024: privatePem('rsa', 1024),
      p256: privatePem('ec', 'P-256'),
      p384: privatePem('ec', 'P-384'),
      ed: privatePem('ed25519'),
      secp256k1: privatePem('ec', 'secp256k1'),
    }
    for (const [name, text] of Object.entries(keys)) writeFileSync(join(folder, `${name}.pem`), text)
    writeFileSync(join(folder, 'broken.pem'), 'not a key')
  })

  const signing = (alg: string, file: string, active = 'k'): string =>
    `signing_keys: { active: ${active}, keys: { k: { alg: ${alg}, pem_file: ${file}.pem } } }`
  const inToken = (more: object, before = ''): string => {
    const pkcs11 = { module: process.execPath, token: 'token', label: 'label', pin: '1234', ...more }
    return `signing_keys: { active: k, keys: { k: { alg: ES256, ${before}pkcs11: ${JSON.stringify(pkcs11)} } } }`
  }
  it('accept a key in a hardware token without opening it', async () => {
    writeFileSync(join(folder, 'pin'), '1234\n')
    const { signingKeys } = await load(inToken({ pin: undefined, pin_file: 'pin', sessions: 3 }))
    const pkcs11 = { module: process.execPath, token: 'token', label: 'label', pin: '1234', sessions: 3 }
    assert.deepEqual(signingKeys?.keys['k'], { algorithm: 'ES256', pkcs11 })
  })

  const accepted = [
    ['RS256', 'rsa2048'],
    ['PS512', 'rsa2048'],
    ['ES256', 'p256'],
    ['ES384', 'p384'],
    ['EdDSA', 'ed'],
  ] as const
  for (const [alg, file] of accepted) {
    // Covers configuration file: signing_keys.keys.<id>.pem_file
    it(`accept ${alg} with ${file}`, async () => {
      const { signingKeys } = await load(signing(alg, file))
      assert.equal(signingKeys?.active, 'k')
      const key = signingKeys.keys['k']
      assert.ok(key && 'privateKey' in key)
      assert.equal(key.algorithm, alg)
      assert.match(key.privateKey, /^-----BEGIN PRIVATE KEY-----/)
      assert.match(key.publicKey ?? '', /^-----BEGIN PUBLIC KEY-----/)
    })
  }

  for (const id of ['', ' ', 'k'.repeat(256), 'a\0b']) {
    it(`refuse the id ${JSON.stringify(id.slice(0, 5))} of ${id.length} characters`, async () => {
      const secret = 'x'.repeat(32)
      const ofServer = { active: 'k', keys: { k: { alg: 'HS256', secret }, [id]: { alg: 'HS256', secret } } }
      const ofZone = { activeKeyId: 'k', keys: { k: { signingKey: secret }, [id]: { signingKey: secret } } }
      const problem = 'has an id that is empty, longer than 255 characters, or cannot be stored'
      assert.deepEqual(await problemsOf(load(JSON.stringify({ signing_keys: ofServer }))), [
        `signing_keys.keys: ${problem}`,
      ])
      assert.deepEqual(await problemsOf(load(JSON.stringify({ zone_config: { tokenPolicy: ofZone } }))), [
        `zone_config.tokenPolicy.keys: ${problem}`,
      ])
    })
  }

  for (const [alg, bytes] of [
    ['HS256', 32],
    ['HS384', 48],
    ['HS512', 64],
  ] as const) {
    // Covers configuration file: signing_keys.keys.<id>.secret; signing_keys.keys.<id>.secret_file
    it(`accept ${alg} with a secret of ${bytes} bytes, also from a file`, async () => {
      const secret = 's'.repeat(bytes)
      writeFileSync(join(folder, 'secret.txt'), `${secret}\n`)
      for (const given of [`secret: ${secret}`, 'secret_file: secret.txt']) {
        const { signingKeys } = await load(`signing_keys: { active: k, keys: { k: { alg: ${alg}, ${given} } } }`)
        assert.deepEqual(signingKeys?.keys['k'], { algorithm: alg, privateKey: secret })
      }
    })

    // Covers signing keys: rule: no shared secret shorter than its hash
    it(`reject ${alg} with a secret of ${bytes - 1} bytes`, async () => {
      const text = `signing_keys: { active: k, keys: { k: { alg: ${alg}, secret: ${'s'.repeat(bytes - 1)} } } }`
      assert.deepEqual(await problemsOf(load(text)), [
        `signing_keys.keys.k.secret: ${alg} needs a secret of at least ${bytes} bytes, this one has ${bytes - 1}`,
      ])
    })
  }

  it('require a minimum length of secrets in bytes, not characters', async () => {
    const { signingKeys } = await load(
      `signing_keys: { active: k, keys: { k: { alg: HS256, secret: ${'é'.repeat(16)} } } }`,
    )
    assert.equal(signingKeys?.keys['k']?.algorithm, 'HS256')
  })

  const own = (members: object): string =>
    JSON.stringify({ signing_keys: { active: 'k', keys: { k: { ...members } } } })
  const secret = 'x'.repeat(64)

  const refused = [
    {
      name: 'an algorithm without support in JOSE libraries',
      text: signing('ES256K', 'p256'),
      want: /^signing_keys\.keys\.k\.alg: must be one of RS256, .*HS512$/,
    },
    {
      name: 'a key on a curve without support in JOSE libraries',
      text: signing('ES256', 'secp256k1'),
      want: /^signing_keys\.keys\.k\.pem: ES256K \(secp256k1\) is not supported; use ES256 with a key on P-256$/,
    },
    {
      name: 'a secret for an algorithm with a public key',
      text: own({ alg: 'RS256', secret }),
      want: /^signing_keys\.keys\.k\.secret: RS256 takes a pem$/,
    },
    {
      name: 'a PEM for an algorithm with a shared secret',
      text: signing('HS256', 'rsa2048'),
      want: /^signing_keys\.keys\.k\.pem: HS256 takes a secret$/,
    },
    {
      name: 'both a secret and a PEM',
      text: own({ alg: 'HS256', secret, pem: 'x' }),
      want: /^signing_keys\.keys\.k\.pem: HS256 takes a secret$/,
    },
    {
      name: 'a PEM as secret',
      text: own({ alg: 'HS256', secret: `-----BEGIN PUBLIC KEY-----\n${secret}` }),
      want: /^signing_keys\.keys\.k\.secret: HS256 needs a shared secret, this is a key in PEM$/,
    },
    {
      name: 'an undefined secret variable',
      text: own({ alg: 'HS512' }),
      want: /^signing_keys\.keys\.k: needs secret or secret_file$/,
    },
    {
      name: 'an empty secret',
      text: own({ alg: 'HS256', secret: '' }),
      want: /^signing_keys\.keys\.k\.secret: HS256 needs a secret of at least 32 bytes, this one has 0$/,
    },
    {
      name: 'a secret of another type',
      text: own({ alg: 'HS256', secret: 1 }),
      want: /^signing_keys\.keys\.k\.secret: must be a string: put it in quotes$/,
    },
    {
      name: 'an empty PEM',
      text: own({ alg: 'RS256', pem: '' }),
      want: /^signing_keys\.keys\.k\.pem: is not an unencrypted private key in PEM$/,
    },
    {
      name: 'a certificate for a shared secret',
      text: own({ alg: 'HS256', secret, cert: 'x' }),
      want: /^signing_keys\.keys\.k\.cert: a shared secret has no certificate$/,
    },
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
      name: 'another type of key',
      text: signing('EdDSA', 'rsa2048'),
      want: /EdDSA needs an Ed25519 key, this is rsa$/,
    },
    {
      name: 'a file without a key',
      text: signing('RS256', 'broken'),
      want: /^signing_keys\.keys\.k\.pem: is not an unencrypted private key/,
    },
    {
      name: 'an invalid algorithm',
      text: signing('none', 'rsa2048'),
      want: /^signing_keys\.keys\.k\.alg: must be one of RS256/,
    },
    {
      name: 'an unknown active key',
      text: signing('RS256', 'rsa2048', 'j'),
      want: /^signing_keys\.active: j is not among the keys$/,
    },
    {
      name: 'a key without PEM',
      text: 'signing_keys: { active: k, keys: { k: { alg: RS256 } } }',
      want: /^signing_keys\.keys\.k: needs pem, pem_file or pkcs11$/,
    },
    {
      name: 'a key in a hardware token and a PEM',
      text: inToken({}, 'pem_file: p256.pem, '),
      want: /^signing_keys\.keys\.k\.pkcs11: cannot be given together with pem$/,
    },
    {
      name: 'a shared secret in a hardware token',
      text: inToken({}).replace('ES256', 'HS256'),
      want: /^signing_keys\.keys\.k\.pkcs11: tokens do not support HS256$/,
    },
    {
      name: 'a hardware token without a PIN',
      text: inToken({ pin: '' }),
      want: /^signing_keys\.keys\.k\.pkcs11: needs pin_file or pin$/,
    },
    {
      name: 'a relative module path',
      text: inToken({ module: 'softhsm.so' }),
      want: /^signing_keys\.keys\.k\.pkcs11\.module: must be an absolute path$/,
    },
    {
      name: 'a module that does not exist',
      text: inToken({ module: '/nowhere/module.so' }),
      want: /^signing_keys\.keys\.k\.pkcs11\.module: \/nowhere\/module\.so does not exist$/,
    },
    {
      name: 'a key in a hardware token without a label',
      text: inToken({ label: undefined }),
      want: /^signing_keys\.keys\.k\.pkcs11\.label: is missing$/,
    },
    {
      name: 'too many sessions of a hardware token',
      text: inToken({ sessions: 17 }),
      want: /^signing_keys\.keys\.k\.pkcs11\.sessions: must be at most 16$/,
    },
    {
      name: 'an active key id without keys',
      text: 'zone_config: { tokenPolicy: { activeKeyId: k } }',
      want: /^zone_config\.tokenPolicy\.activeKeyId: /,
    },
  ]
  for (const { name, text, want } of refused) {
    it(`reject ${name}`, async () => {
      const got = await problemsOf(load(text))
      assert.equal(got.length, 1, got.join('\n'))
      assert.match(got[0] ?? '', want)
    })
  }

  it('remove the keys of a zone request from its settings, so that they are not stored there', async () => {
    const policy = { accessTokenValidity: 60, keys: { z: { signingKey: keys['p256'] } } }
    const { signingKeys, zoneConfig } = await load(JSON.stringify({ zone_config: { tokenPolicy: policy } }))
    assert.equal(signingKeys?.active, 'z')
    assert.equal(signingKeys.keys['z']?.algorithm, 'ES256')
    assert.deepEqual(zoneConfig, { tokenPolicy: { accessTokenValidity: 60 } })
  })

  const zoneKey = (members: object) =>
    load(JSON.stringify({ zone_config: { tokenPolicy: { keys: { z: { ...members } } } } }))

  it('of a zone request default to HS256 for text that is not PEM', async () => {
    for (const [signingAlg, want] of [
      [undefined, 'HS256'],
      ['HS256', 'HS256'],
      ['HS384', 'HS384'],
      ['HS512', 'HS512'],
    ]) {
      const { signingKeys } = await zoneKey({ signingKey: secret, signingAlg })
      assert.deepEqual(signingKeys?.keys['z'], { algorithm: want, privateKey: secret })
    }
  })

  const ofZone = [
    {
      name: 'a shared secret that is too short',
      members: () => ({ signingKey: 's3cret' }),
      want: 'signingKey: HS256 needs a secret of at least 32 bytes, this one has 6',
    },
    {
      name: 'a shared secret that is too short for its algorithm',
      members: () => ({ signingKey: 'x'.repeat(63), signingAlg: 'HS512' }),
      want: 'signingKey: HS512 needs a secret of at least 64 bytes, this one has 63',
    },
    {
      name: 'text that is not PEM for an asymmetric algorithm',
      members: () => ({ signingKey: secret, signingAlg: 'RS256' }),
      want: 'signingKey: is not an unencrypted private key in PEM',
    },
    {
      name: 'a PEM as shared secret',
      members: () => ({ signingKey: keys['rsa2048'], signingAlg: 'HS256' }),
      want: 'signingKey: HS256 needs a shared secret, this is a key in PEM',
    },
    {
      name: 'an invalid PEM',
      members: () => ({ signingKey: ` -----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----` }),
      want: 'signingKey: is not an unencrypted private key in PEM',
    },
    {
      name: 'ES256K by name',
      members: () => ({ signingKey: keys['p256'], signingAlg: 'ES256K' }),
      want: 'signingAlg: ES256K (secp256k1) is not supported; use ES256 with a key on P-256',
    },
    {
      name: 'ES256K by its curve',
      members: () => ({ signingKey: keys['secp256k1'] }),
      want: 'signingKey: ES256K (secp256k1) is not supported; use ES256 with a key on P-256',
    },
    {
      name: 'an invalid algorithm',
      members: () => ({ signingKey: keys['p256'], signingAlg: 'none' }),
      want: /^signingAlg: must be one of RS256, /,
    },
    {
      name: 'a certificate for another key',
      members: () => ({ signingKey: keys['p256'], signingCert: certificateOf(keys['rsa2048'] ?? '') }),
      want: 'signingCert: is the certificate of another key',
    },
    {
      name: 'a private key as certificate',
      members: () => ({ signingKey: keys['p256'], signingCert: keys['p256'] }),
      want: 'signingCert: is not an X.509 certificate in PEM',
    },
    {
      name: 'a private key after the certificate',
      members: () => ({
        signingKey: keys['p256'],
        signingCert: `${certificateOf(keys['p256'] ?? '')}${keys['p256']}`,
      }),
      want: 'signingCert: is not an X.509 certificate in PEM',
    },
  ]
  for (const { name, members, want } of ofZone) {
    it(`of a zone request reject ${name}`, async () => {
      const got = await problemsOf(zoneKey(members()))
      assert.equal(got.length, 1, got.join('\n'))
      const problem = (got[0] ?? '').replace('zone_config.tokenPolicy.keys.z.', '')
      if (typeof want === 'string') assert.equal(problem, want)
      else assert.match(problem, want)
    })
  }

  // Covers configuration file: signing_keys.keys.<id>.cert; signing_keys.keys.<id>.cert_file
  // Covers signing keys: signingCert
  // Covers Zone config in effect: tokenPolicy.keys.<id>.signingCert
  it('accept a certificate, in the file or a zone request', async () => {
    const pem = keys['p256'] ?? ''
    const cert = certificateOf(pem)
    writeFileSync(join(folder, 'cert.pem'), cert)
    const file = await load(
      'signing_keys: { active: k, keys: { k: { alg: ES256, pem_file: p256.pem, cert_file: cert.pem } } }',
    )
    assert.equal(file.signingKeys?.keys['k']?.certificate, cert.trimEnd())
    const api = await zoneKey({ signingKey: pem, signingCert: cert })
    assert.equal(api.signingKeys?.keys['z']?.certificate, cert)
  })

  it('reject keys in two places', async () => {
    const zone_config = { tokenPolicy: { keys: { z: { signingKey: keys['p256'] } } } }
    const signing_keys = { active: 'k', keys: { k: { alg: 'EdDSA', pem: keys['ed'] } } }
    const got = await problemsOf(load(JSON.stringify({ zone_config, signing_keys })))
    assert.deepEqual(got, ['zone_config.tokenPolicy.keys: cannot be given together with signing_keys'])
  })
})
