// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/script.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "tools/drill/cm/words.h"
#include "tools/drill/vocabulary.h"

namespace urxe::drill {
namespace {

constexpr size_t kMaxLine = 16384;
constexpr size_t kMaxStatements = 10000;
constexpr int64_t kMaxTimeNs = 3'600'000'000'000;

struct Token {
  std::string_view text;
  int column;
};

std::vector<Token> split(std::string_view line) {
  std::vector<Token> tokens;
  size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t\r", at);
    if (at == std::string_view::npos || line[at] == '#') return tokens;
    const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    tokens.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = end;
  }
}

std::optional<Duration> parse_duration(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_number(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  const int64_t scale = unit == "ns"   ? 1
                        : unit == "us" ? 1000
                        : unit == "ms" ? 1'000'000
                        : unit == "s"  ? 1'000'000'000
                                       : 0;
  if (!value || scale == 0 || *value > static_cast<uint64_t>(kMaxTimeNs / scale)) {
    return std::nullopt;
  }
  return nanoseconds(static_cast<int64_t>(*value) * scale);
}

std::optional<When> parse_when(std::string_view text) {
  const size_t dots = text.find("..");
  const auto first =
      parse_duration(text.substr(1, dots == std::string_view::npos ? dots : dots - 1));
  const auto last = dots == std::string_view::npos ? first : parse_duration(text.substr(dots + 2));
  if (!first || !last || *last < *first) return std::nullopt;
  return When{text[0] == '@', *first, *last};
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

class Parser {
 public:
  Expected<void, ParseError> line(std::string_view text, int number);
  Expected<Script, ParseError> finish(int number);

 private:
  using Result = Expected<void, ParseError>;
  [[nodiscard]] Unexpected<ParseError> error(int column, std::string_view expected) const {
    return Unexpected<ParseError>(ParseError{number_, column, std::string(expected)});
  }
  Result heading(std::string_view text, const std::vector<Token>& tokens);
  Result subject(Statement& statement, const Token* token, int end);
  Result word(Statement& statement, const Token& token);

  Script script_;
  std::set<std::string, std::less<>> regions_;
  bool has_qp_ = false;
  int number_ = 0;
};

Parser::Result Parser::heading(std::string_view text, const std::vector<Token>& tokens) {
  const auto begin = static_cast<size_t>(tokens[0].column) - 1 + tokens[0].text.size();
  const std::string_view rest = text.substr(begin);
  const size_t from = rest.find_first_not_of(" \t");
  if (tokens.size() < 2) return error(static_cast<int>(begin) + 1, "text behind the word");
  std::string value(rest.substr(from, rest.find_last_not_of(" \t\r") + 1 - from));
  (tokens[0].text == "title" ? script_.title : script_.section) = std::move(value);
  return {};
}

Parser::Result Parser::subject(Statement& statement, const Token* token, int end) {
  const std::string_view name = subject_name(statement.verb);
  if (token == nullptr) return error(end, name);
  const auto value = subject_of(statement.verb, script_.service, token->text);
  if (!value) return error(token->column, name);
  statement.subject = token->text;
  statement.subject_id = *value;
  if (statement.verb == Verb::kQp) {
    script_.service = *service_of(token->text);
    has_qp_ = true;
  }
  if (statement.verb == Verb::kRegion) {
    if (!is_name(token->text)) return error(token->column, name);
    if (!regions_.emplace(token->text).second) return error(token->column, "a new name");
  }
  if (statement.verb == Verb::kMemory && token->text != "local" &&
      !regions_.contains(token->text)) {
    return error(token->column, "the name of a region above, or local");
  }
  return {};
}

Parser::Result Parser::word(Statement& statement, const Token& token) {
  const size_t equals = std::min(token.text.find('='), token.text.size());
  Word word;
  word.key = token.text.substr(0, equals);
  const Kind kind = kind_of(statement.verb, word.key);
  if (kind == Kind::kNone) return error(token.column, "a field of this statement");
  if (statement.find(word.key) != nullptr) return error(token.column, "each field once");
  const int column = token.column + static_cast<int>(equals) + 1;
  if (equals == token.text.size()) {
    if (!is_flag(word.key)) return error(column - 1, "= and a value");
    word.text = "1";
  } else {
    word.text = token.text.substr(equals + 1);
  }
  const bool is_region = kind == Kind::kKey && regions_.contains(word.text);
  const auto value = is_region ? std::optional<uint64_t>(0) : value_of(kind, word.text);
  if (!value) return error(column, kind_name(kind));
  // Also bounds what a script can make the device allocate.
  if (*value > largest(word.key)) {
    return error(column, "at most " + std::to_string(largest(word.key)));
  }
  word.number = *value;
  statement.words.push_back(std::move(word));
  return {};
}

Expected<void, ParseError> Parser::line(std::string_view text, int number) {
  number_ = number;
  if (text.size() > kMaxLine) return error(static_cast<int>(kMaxLine), "a shorter line");
  const std::vector<Token> tokens = split(text);
  if (tokens.empty()) return {};
  if (tokens[0].text == "title" || tokens[0].text == "section") return heading(text, tokens);
  Statement statement;
  statement.line = number;
  statement.source = text;
  const int end = tokens.back().column + static_cast<int>(tokens.back().text.size());
  size_t next = 0;
  if (tokens[0].text[0] == '+' || tokens[0].text[0] == '@') {
    statement.when = parse_when(tokens[0].text);
    if (!statement.when) return error(tokens[0].column, "a time such as +10us, @2ms or +1ms..2ms");
    ++next;
  }
  if (next == tokens.size()) return error(end, "a statement behind the time");
  const Token& verb_token = tokens[next++];
  const auto verb = verb_of(verb_token.text);
  if (!verb) {
    return error(verb_token.column,
                 "qp, cm, mr, post, recv, srq, call, <, >, wc, event, state, modify, memory, "
                 "nothing, title or "
                 "section");
  }
  statement.verb = *verb;
  if (has_qp_ == (*verb == Verb::kQp || *verb == Verb::kCm)) {
    return error(verb_token.column, has_qp_ ? "one qp or cm statement only" : "qp or cm first");
  }
  if (*verb == Verb::kCm) script_.is_cm = has_qp_ = true;
  if (script_.is_cm && *verb != Verb::kCm) {
    const auto cm_verb = cm_verb_of(*verb);
    if (!cm_verb) return error(verb_token.column, "call, <, >, event or nothing");
    statement.verb = *cm_verb;
  } else if (*verb == Verb::kCall) {
    return error(verb_token.column, "a script that begins with cm");
  }
  if (statement.when && statement.when->earliest != statement.when->latest && *verb != Verb::kOut) {
    return error(tokens[0].column, "a range of time only with >");
  }
  if (*verb == Verb::kNothing && !statement.when) return error(tokens[0].column, "a time first");
  if (!subject_name(statement.verb).empty()) {
    const Token* token = next < tokens.size() ? &tokens[next++] : nullptr;
    if (auto result = subject(statement, token, end); !result) return result;
  }
  for (; next < tokens.size(); ++next) {
    if (auto result = word(statement, tokens[next]); !result) return result;
  }
  if (script_.statements.size() == kMaxStatements) return error(1, "no more than 10000 statements");
  script_.statements.push_back(std::move(statement));
  return {};
}

Expected<Script, ParseError> Parser::finish(int number) {
  number_ = number;
  if (script_.title.empty()) return error(1, "a title in the script");
  if (!has_qp_) return error(1, "a qp or cm statement in the script");
  return std::move(script_);
}

}  // namespace

const Word* Statement::find(std::string_view key) const {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const Word& word) { return word.key == key; });
  return found == words.end() ? nullptr : &*found;
}

uint64_t Statement::number(std::string_view key, uint64_t otherwise) const {
  const Word* word = find(key);
  return word == nullptr ? otherwise : word->number;
}

Expected<Script, ParseError> parse_script(std::string_view text) {
  Parser parser;
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto result = parser.line(text.substr(0, end), ++number); !result) {
      return Unexpected<ParseError>(result.error());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.finish(number + 1);
}

std::string to_text(const Script& script) {
  std::string text = "title " + script.title + "\n";
  if (!script.section.empty()) text += "section " + script.section + "\n";
  for (const Statement& statement : script.statements) text += statement.source + "\n";
  return text;
}

}  // namespace urxe::drill
