import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { certificateOf } from '../support/certificate.ts'
import { loadText, privatePem, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('The SAML service provider', () => {
  const load = (saml: unknown) => loadText(folder, JSON.stringify({ saml }))
  const rsa = privatePem('rsa', 2048)
  const ec = privatePem('ec', 'P-256')
  const pairs = {
    one: { pem: rsa, cert: certificateOf(rsa) },
    two: { pem: ec, cert: certificateOf(ec) },
  }
  before(() => {
    writeFileSync(join(folder, 'one.pem'), rsa)
    writeFileSync(join(folder, 'one.crt'), certificateOf(rsa))
  })

  it('has an entity id and no keys by default', async () => {
    const maxAuthenticationAge = 864_000
    assert.deepEqual((await load(undefined)).saml, { entityId: 'latchkey', maxAuthenticationAge })
    assert.deepEqual((await load({ entity_id: 'sp' })).saml, { entityId: 'sp', maxAuthenticationAge })
  })

  it('may limit the age of a sign-in at a provider', async () => {
    assert.equal((await load({ max_authentication_age: 7_776_000 })).saml.maxAuthenticationAge, 7_776_000)
    for (const value of [0, 315_360_001, 1.5, 'x']) {
      assert.match(
        (await problemsOf(load({ max_authentication_age: value }))).join(),
        /^saml\.max_authentication_age: /,
      )
    }
  })

  it('has keys, of which the only or the named one is active', async () => {
    const { keys: only } = (await load({ keys: { one: { pem_file: 'one.pem', cert_file: 'one.crt' } } })).saml
    assert.equal(only?.active, 'one')
    assert.equal(only.pairs['one']?.privateKey, rsa)
    assert.equal(only.pairs['one'].certificate.trim(), certificateOf(rsa).trim())
    const { keys: both } = (await load({ active: 'two', keys: pairs })).saml
    assert.equal(both?.active, 'two')
    assert.deepEqual(Object.keys(both.pairs), ['one', 'two'])
  })

  it('may have an encrypted key with a passphrase', async () => {
    const passphrase = 'correct horse'
    const pem = createPrivateKey(rsa)
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
      .toString()
    const { keys } = (await load({ keys: { one: { ...pairs.one, pem, passphrase } } })).saml
    assert.equal(keys?.pairs['one']?.privateKey, rsa)
    const wrong = await problemsOf(load({ keys: { one: { ...pairs.one, pem, passphrase: 'wrong' } } }))
    assert.match(wrong.join(), /^saml\.keys\.one: must be an RSA or EC key with its passphrase/)
    assert.doesNotMatch(wrong.join(), /PRIVATE|wrong/)
  })

  it('has the key that zone_config names, which must be among them', async () => {
    const loadWith = (activeKeyId: string, keys: unknown) =>
      loadText(folder, JSON.stringify({ saml: { active: 'one', keys }, zone_config: { samlConfig: { activeKeyId } } }))
    assert.equal((await loadWith('two', pairs)).saml.keys?.active, 'one')
    const path = 'zone_config.samlConfig.activeKeyId'
    assert.deepEqual(await problemsOf(loadWith('three', pairs)), [`${path}: three is not among saml.keys`])
    const unreadable = { ...pairs, three: { pem: 'x', cert: 'x' } }
    assert.doesNotMatch((await problemsOf(loadWith('three', unreadable))).join(), /samlConfig/)
  })

  it('may have an empty set of keys', async () => {
    assert.deepEqual((await load({ keys: {} })).saml.keys, { active: '', pairs: {} })
  })

  const refused = [
    { name: 'several keys without an active one', saml: { keys: pairs }, problem: /^saml\.active: is missing/ },
    {
      name: 'an unknown active key',
      saml: { active: 'x', keys: pairs },
      problem: /x is not among the keys/,
    },
    { name: 'an active key without keys', saml: { active: 'x' }, problem: /there are no saml\.keys/ },
    { name: 'a key without a certificate', saml: { keys: { a: { pem: rsa } } }, problem: /needs cert or cert_file/ },
    { name: 'a certificate without a key', saml: { keys: { a: { cert: 'x' } } }, problem: /needs pem or pem_file/ },
    {
      name: 'a certificate for another key',
      saml: { keys: { a: { pem: rsa, cert: certificateOf(ec) } } },
      problem: /must be an RSA or EC key/,
    },
    { name: 'a key of another type', saml: { keys: { a: { pem: 'x', cert: 'x' } } }, problem: /must be an RSA or EC/ },
    {
      name: 'a missing file, without revealing the key',
      saml: { keys: { a: { ...pairs.one, pem: undefined, pem_file: 'none.pem' } } },
      problem: /^saml\.keys\.a\.pem_file: none\.pem cannot be read/,
    },
    { name: 'a member of another type', saml: { keys: { a: { ...pairs.one, x: 1 } } }, problem: /saml\.keys\.a\.x/ },
    { name: 'keys that are not an object', saml: { keys: 'x' }, problem: /saml\.keys/ },
  ]
  for (const { name, saml, problem } of refused) {
    it(`rejects ${name}`, async () => {
      const problems = await problemsOf(load(saml))
      assert.equal(problems.length, 1, problems.join('\n'))
      assert.match(problems.join(), problem)
    })
  }
})
