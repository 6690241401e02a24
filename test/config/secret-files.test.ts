import assert from 'node:assert/strict'
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
