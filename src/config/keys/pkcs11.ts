/** A key in a PKCS#11 token, as in the file. */
export interface Pkcs11File {
  readonly module: string
  readonly token: string
  readonly label: string
  readonly pin?: string
  readonly sessions?: number
}

const name = (description: string) => ({ type: 'string', minLength: 1, description }) as const

/** JSON Schema of `signing_keys.keys.<id>.pkcs11`. */
export const pkcs11Schema = {
  type: 'object',
  additionalProperties: false,
  required: ['module', 'token', 'label'],
  description: 'A private key in a PKCS#11 token, which it never leaves.',
  properties: {
    module: name("Absolute path of the library of the token's maker."),
    token: { ...name('Label of the token.'), maxLength: 32 },
    label: name('Label of the private key, of which there must be one.'),
    pin: { type: 'string', description: 'The PIN of the user.' },
    pin_file: {
      type: 'string',
      description: 'A file, relative to this one, that contains the PIN; a final line break is dropped.',
    },
    sessions: {
      type: 'integer',
      minimum: 1,
      maximum: 16,
      default: 1,
      description: 'Number of concurrent signatures of each server process; each uses a separate process.',
    },
  },
} as const
