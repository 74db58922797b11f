import { Document, isScalar, Scalar, visit } from 'yaml';
import { plainJson, plainText } from './plain-text.ts';

export function yamlText(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar(_key, node) {
      // Only a double-quoted YAML string can escape a control character; line breaks need no quotes.
      const text = isScalar(node) && typeof node.value === 'string' ? node.value : '';
      if (text.split('\n').some((line) => plainText(line) !== line)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return plainJson(document.toString({ lineWidth: 0 }));
}
