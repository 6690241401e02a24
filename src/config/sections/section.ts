/** JSON Schema of an object with exactly these keys. */
export const section = <P extends Record<string, unknown>>(description: string, properties: P) =>
  ({ type: 'object', additionalProperties: false, description, properties }) as const
