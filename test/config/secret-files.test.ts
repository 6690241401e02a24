import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { chmodSync, mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadText, privatePem, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('Secret files', () => {
  const warningsAbout = async (content: string): Promise<readonly string[]> => {
    writeFileSync(join(folder, 'password'), content)
    const { warnings } = await loadText(folder, 'smtp: { host: localhost, user: u, password_file: password }')
    return warnings
  }

  const contents = [
    { name: 'one line', content: 'secret\n', warned: false },
    { name: 'one line with CRLF', content: 'secret\r\n', warned: false },
    { name: 'no line break', content: 'secret', warned: false },
    { name: 'a line break in the middle', content: 'one\ntwo\n', warned: false },
    { name: 'two line breaks at the end', content: 'secret\n\n', warned: true },
    { name: 'two CRLF line breaks at the end', content: 'secret\r\n\r\n', warned: true },
    { name: 'a leading line break', content: '\nsecret\n', warned: true },
  ]
  for (const { name, content, warned } of contents) {
    it(`${warned ? 'cause a warning about' : 'may have'} ${name}`, async () => {
      const warnings = await warningsAbout(content)
      assert.equal(warnings.length, warned ? 1 : 0, warnings.join('\n'))
      if (warned)
        assert.match(
          warnings[0] ?? '',
          /^smtp\.password_file: \S+password begins with a line break or ends with several/,
        )
      assert.doesNotMatch(warnings.join(), /secret\s/)
    })
  }

  it('that are in the file itself cause a warning if YAML ends them at a #', async () => {
    const text = `smtp:
  host: localhost
  user: a #b
  password: horse #battery
bootstrap:
  clients:
    - { client_id: a, client_secret: "x #y", authorized_grant_types: [client_credentials] }
    - client_id: b
      client_secret: staple # from May
        #secondary_client_secret: old
      authorized_grant_types: [client_credentials]
    - { client_id: c, client_secret: 's' #t
      , authorized_grant_types: [client_credentials] }`
    const { smtp, warnings } = await loadText(folder, text)
    assert.equal(smtp?.password, 'horse')
    assert.deepEqual(
      warnings.filter(each => each.includes('#')),
      [
        'password at line 4: the value ends before #, where YAML begins a comment: put quotes around it if the rest belongs to it',
      ],
    )
  })

  it('may have line breaks around PEM', async () => {
    writeFileSync(join(folder, 'key.pem'), `${privatePem('ec', 'P-256')}\n\n`)
    const keys = 'signing_keys: { active: k, keys: { k: { alg: ES256, pem_file: key.pem } } }'
    assert.deepEqual((await loadText(folder, `${keys}\nsmtp: { host: localhost }`)).warnings, [])
  })
})

const isInMemory = statfsSync(tmpdir()).type === 0x01021994
const skip = isInMemory
  ? 'the temporary folder is in memory, like the secrets of Kubernetes'
  : process.platform === 'win32'

describe('Permissions of secret files', { skip }, () => {
  const shared = join(folder, 'shared')
  mkdirSync(shared)
  writeFileSync(join(shared, 'master.key'), 'a'.repeat(64))
  writeFileSync(join(shared, 'password'), 'secret')
  const text = 'master_key_file: master.key\nsmtp: { host: localhost, user: u, password_file: password }'

  async function warningsWith(rights: { file: number; folder: number }): Promise<readonly string[]> {
    for (const name of ['master.key', 'password']) chmodSync(join(shared, name), rights.file)
    chmodSync(folder, rights.folder)
    return (await loadText(shared, text)).warnings
  }

  it('cause a warning if every account can read the file', async () => {
    assert.deepEqual(
      (await warningsWith({ file: 0o644, folder: 0o755 })).map(warning => warning.replace(/ \/\S+/, '')),
      ['master_key_file', 'smtp.password_file'].map(
        key => `${key}: can be read by every account of this machine: take the right from others (chmod o-r)`,
      ),
    )
  })

  it('may include a group', async () => {
    assert.deepEqual(await warningsWith({ file: 0o440, folder: 0o755 }), [])
  })

  it('are ignored in a folder that others cannot enter', async () => {
    assert.deepEqual(await warningsWith({ file: 0o644, folder: 0o750 }), [])
  })
})

describe('Secrets in the configuration file', { skip }, () => {
  const own = join(folder, 'own')
  mkdirSync(own)
  const OPEN = 'can be read by every account of this machine: take the right from others (chmod o-r)'

  async function warningsAbout(text: string, rights = 0o644): Promise<readonly string[]> {
    chmodSync(folder, 0o755)
    writeFileSync(join(own, 'latchkey.yml'), '')
    chmodSync(join(own, 'latchkey.yml'), rights)
    const { warnings } = await loadText(own, text, { env: { ANY: 'secret-of-the-environment', KEY: 'a'.repeat(64) } })
    return warnings.filter(warning => warning.includes('latchkey.yml')).map(warning => warning.replace(own, ''))
  }

  const mail = 'smtp: { host: localhost, user: u, password: hidden-in-the-file }'
  const client = (secret: string): string =>
    `{ client_id: c${secret.length}, authorized_grant_types: [client_credentials], client_secret: '${secret}' }`

  it('cause a warning if every account can read it', async () => {
    assert.deepEqual(await warningsAbout(mail), [`smtp.password: /latchkey.yml ${OPEN}`])
  })

  it('cause one warning for several secrets', async () => {
    const clients = `bootstrap: { clients: [${client('first-secret')}, ${client('the-second-secret')}] }`
    assert.deepEqual(await warningsAbout(`${mail}\n${clients}`), [`smtp.password and 2 more: /latchkey.yml ${OPEN}`])
  })

  it('cause no warning if others cannot read the file', async () => {
    assert.deepEqual(await warningsAbout(mail, 0o640), [])
  })

  const provider = (
    settings: string,
  ): string => `bootstrap: { identity_providers: [{ type: oidc1.0, originKey: a, name: A,
    config: { issuer: 'https://a.example', relyingPartyId: b, ${settings} } }] }`
  const secrets = [
    { name: 'a database password', text: 'database: postgres://u:hidden@127.0.0.1/x', warned: true },
    { name: 'a database URL without a password', text: 'database: postgres://u@127.0.0.1/x', warned: false },
    { name: 'a file', text: 'database: sqlite:./data/x.db', warned: false },
    { name: 'a variable', text: `bootstrap: { clients: [${client('${ANY}')}] }`, warned: false },
    { name: 'a variable in a URL', text: 'database: postgres://u:${ANY}@127.0.0.1/x', warned: false },
    { name: 'the default of a variable', text: `bootstrap: { clients: [${client('${NONE:-hidden}')}] }`, warned: true },
    { name: 'a master key', text: `master_key: ${'a'.repeat(64)}`, warned: true },
    { name: 'a shared key of a provider', text: provider('tokenKey: hidden-in-the-file-of-32-bytes-0'), warned: true },
    {
      name: 'a public key of a provider',
      text: provider(
        `tokenKey: ${JSON.stringify(createPublicKey(privatePem('ec', 'P-256')).export({ type: 'spki', format: 'pem' }))}`,
      ),
      warned: false,
    },
    {
      name: 'a signing key',
      text: `signing_keys: { active: k, keys: { k: { alg: ES256, pem: ${JSON.stringify(privatePem('ec', 'P-256'))} } } }`,
      warned: true,
    },
    { name: 'password rules', text: 'password: { policy: { global: { minLength: 12 } } }', warned: false },
    {
      name: 'values under a key named like a secret',
      text: `signing_keys:
  active: secret
  keys: { secret: { alg: ES256, pem_file: key.pem } }`,
      warned: false,
    },
  ]
  for (const { name, text, warned } of secrets) {
    it(`${warned ? 'include' : 'do not include'} ${name}`, async () => {
      writeFileSync(join(own, 'key.pem'), privatePem('ec', 'P-256'))
      chmodSync(join(own, 'key.pem'), 0o600)
      assert.equal((await warningsAbout(text)).length, warned ? 1 : 0)
    })
  }
})
